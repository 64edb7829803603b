"""Tables of documents' entities and of episodes."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from ragcorp.infrastructure.postgres.tables.columns import backlog_table, identity, metadata, vectors_table

structured_documents = sa.Table(
    "structured_documents",
    metadata,
    sa.Column("document_id", sa.Uuid, sa.ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("names", sa.ARRAY(sa.Text), nullable=False),
    sa.Column("is_code", sa.Boolean, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("artifact_hash", sa.LargeBinary, nullable=False),
)
sa.Index(
    "ix_structured_documents_names",
    structured_documents.c.names,
    postgresql_using="gin",
    postgresql_with={"fastupdate": "off"},
)
sa.Index("ix_structured_documents_fingerprint", structured_documents.c.fingerprint)

structural_entities = sa.Table(
    "structural_entities",
    metadata,
    identity(),
    sa.Column(
        "document_id", sa.Uuid, sa.ForeignKey("structured_documents.document_id", ondelete="CASCADE"), nullable=False
    ),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("entity_key", sa.Text(collation="C"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("names", sa.ARRAY(sa.Text), nullable=False),
    sa.Column("container", sa.Text(collation="C")),
    sa.Column("language", sa.Text, nullable=False, server_default=""),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("token_count", sa.Integer, nullable=False),
    sa.Column("head_tokens", sa.Integer, nullable=False),
    sa.Column("line_start", sa.Integer, nullable=False),
    sa.Column("line_end", sa.Integer, nullable=False),
    sa.Column("calls", sa.ARRAY(sa.Text), nullable=False, server_default="{}"),
    sa.Column("index_text", sa.Text),
    sa.Column("content_hash", sa.LargeBinary),
    sa.Column("cut", sa.Boolean, nullable=False, server_default=sa.text("false")),
    sa.UniqueConstraint("document_id", "entity_key"),
    sa.UniqueConstraint("document_id", "position"),
)
for _column in (structural_entities.c.names, structural_entities.c.calls):
    sa.Index(
        f"ix_structural_entities_{_column.name}", _column, postgresql_using="gin", postgresql_with={"fastupdate": "off"}
    )

structural_entity_embeddings = vectors_table("structural_entity_embeddings", "item_id", of=structural_entities)
structural_entity_backlog = backlog_table("structural_entity_backlog", "item_id", of=structural_entities)

episodes = sa.Table(
    "episodes",
    metadata,
    identity(),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("episode_id", sa.Text(collation="C"), nullable=False),
    sa.Column("turns", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("workspace", "subject", "episode_id"),
)

hydration_turns = sa.Table(
    "hydration_turns",
    metadata,
    identity(),
    sa.Column("episode", sa.BigInteger, sa.ForeignKey("episodes.id", ondelete="CASCADE"), nullable=False),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("model", sa.Text),
    sa.Column("budget", JSONB, nullable=False),
    sa.Column("warnings", JSONB, nullable=False, server_default="[]"),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.UniqueConstraint("episode", "turn"),
)
sa.Index("ix_hydration_turns_created_at", hydration_turns.c.created_at)

hydrated_entities = sa.Table(
    "hydrated_entities",
    metadata,
    sa.Column("turn_id", sa.BigInteger, sa.ForeignKey("hydration_turns.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("document_id", sa.Uuid, sa.ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    sa.Column("entity_key", sa.Text(collation="C"), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("artifact_hash", sa.LargeBinary, nullable=False),
    sa.Column("reasons", sa.ARRAY(sa.Text), nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("cut", sa.Boolean, nullable=False, server_default=sa.text("false")),
    sa.Column("dropped", sa.Text),
)
sa.Index("ix_hydrated_entities_document_id", hydrated_entities.c.document_id)
