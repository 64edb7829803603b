"""Tables of documents' entities and of episodes."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from ragcorp.infrastructure.postgres.tables import columns
from ragcorp.infrastructure.postgres.tables.columns import cascading, flag, gin_index, identity, metadata, required

structured_documents = sa.Table(
    "structured_documents",
    metadata,
    cascading("document_id", "documents.id", primary_key=True),
    *required(sa.Text, "workspace", "path", "fingerprint"),
    *required(sa.ARRAY(sa.Text), "names"),
    *required(sa.Boolean, "is_code"),
    *required(sa.LargeBinary, "artifact_hash"),
)
gin_index("ix_structured_documents_names", structured_documents.c.names, fastupdate="off")
sa.Index("ix_structured_documents_fingerprint", structured_documents.c.fingerprint)

structural_entities = sa.Table(
    "structural_entities",
    metadata,
    identity(),
    cascading("document_id", "structured_documents.document_id"),
    *required(sa.Text, "workspace", "kind", "name", "content", "head"),
    *required(sa.Text(collation="C"), "entity_key"),
    *required(sa.Integer, "position", "token_count", "head_tokens", "line_start", "line_end"),
    *required(sa.ARRAY(sa.Text), "names"),
    sa.Column("container", sa.Text(collation="C")),
    columns.text("language"),
    columns.array("calls"),
    sa.Column("index_text", sa.Text),
    sa.Column("content_hash", sa.LargeBinary),
    flag("cut"),
    sa.UniqueConstraint("document_id", "entity_key"),
    sa.UniqueConstraint("document_id", "position"),
)
gin_index("ix_structural_entities_names", structural_entities.c.names, fastupdate="off")
gin_index("ix_structural_entities_calls", structural_entities.c.calls, fastupdate="off")

columns.vectors_table("structural_entity_embeddings", "item_id", of=structural_entities)
columns.backlog_table("structural_entity_backlog", "item_id", of=structural_entities)

sa.Table(
    "episodes",
    metadata,
    identity(),
    *required(sa.Text, "workspace", "subject"),
    *required(sa.Text(collation="C"), "episode_id"),
    sa.Column("turns", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("workspace", "subject", "episode_id"),
)

hydration_turns = sa.Table(
    "hydration_turns",
    metadata,
    identity(),
    cascading("episode", "episodes.id"),
    *required(sa.Integer, "turn"),
    *required(sa.Text, "query"),
    sa.Column("model", sa.Text),
    *required(JSONB, "budget"),
    sa.Column("warnings", JSONB, nullable=False, server_default="[]"),
    columns.moment("created_at"),
    sa.UniqueConstraint("episode", "turn"),
)
sa.Index("ix_hydration_turns_created_at", hydration_turns.c.created_at)

hydrated_entities = sa.Table(
    "hydrated_entities",
    metadata,
    cascading("turn_id", "hydration_turns.id", primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    cascading("document_id", "documents.id"),
    *required(sa.Text(collation="C"), "entity_key"),
    *required(sa.Text, "kind"),
    *required(sa.LargeBinary, "artifact_hash"),
    *required(sa.ARRAY(sa.Text), "reasons"),
    *required(sa.Integer, "priority", "tokens"),
    flag("cut"),
    sa.Column("dropped", sa.Text),
)
sa.Index("ix_hydrated_entities_document_id", hydrated_entities.c.document_id)
