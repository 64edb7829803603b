"""The tables of entities of documents and of episodes, as ``tables`` has those of documents."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from ragcorp.infrastructure.postgres.tables.documents import metadata
from ragcorp.infrastructure.postgres.tables.items import item_backlog_table, item_embeddings_table

structured_documents = Table(
    "structured_documents",
    metadata,
    Column("document_id", Uuid, ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("names", ARRAY(Text), nullable=False),
    Column("is_code", Boolean, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("artifact_hash", LargeBinary, nullable=False),
)
Index(
    "ix_structured_documents_names",
    structured_documents.c.names,
    postgresql_using="gin",
    postgresql_with={"fastupdate": "off"},
)
Index("ix_structured_documents_fingerprint", structured_documents.c.fingerprint)

structural_entities = Table(
    "structural_entities",
    metadata,
    Column("id", BigInteger, Identity(always=False), primary_key=True),
    Column("document_id", Uuid, ForeignKey("structured_documents.document_id", ondelete="CASCADE"), nullable=False),
    Column("workspace", Text, nullable=False),
    Column("entity_key", Text(collation="C"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("names", ARRAY(Text), nullable=False),
    Column("container", Text(collation="C")),
    Column("language", Text, nullable=False, server_default=""),
    Column("content", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("token_count", Integer, nullable=False),
    Column("head_tokens", Integer, nullable=False),
    Column("line_start", Integer, nullable=False),
    Column("line_end", Integer, nullable=False),
    Column("calls", ARRAY(Text), nullable=False, server_default="{}"),
    Column("index_text", Text),
    Column("content_hash", LargeBinary),
    Column("cut", Boolean, nullable=False, server_default=text("false")),
    UniqueConstraint("document_id", "entity_key"),
    UniqueConstraint("document_id", "position"),
)
for _column in (structural_entities.c.names, structural_entities.c.calls):
    Index(
        f"ix_structural_entities_{_column.name}", _column, postgresql_using="gin", postgresql_with={"fastupdate": "off"}
    )

structural_entity_embeddings = item_embeddings_table("structural_entity_embeddings", items="structural_entities")
structural_entity_backlog = item_backlog_table("structural_entity_backlog", items="structural_entities")

episodes = Table(
    "episodes",
    metadata,
    Column("id", BigInteger, Identity(always=False), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("episode_id", Text(collation="C"), nullable=False),
    Column("turns", Integer, nullable=False, server_default="0"),
    UniqueConstraint("workspace", "subject", "episode_id"),
)

hydration_turns = Table(
    "hydration_turns",
    metadata,
    Column("id", BigInteger, Identity(always=False), primary_key=True),
    Column("episode", BigInteger, ForeignKey("episodes.id", ondelete="CASCADE"), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("query", Text, nullable=False),
    Column("model", Text),
    Column("budget", JSONB, nullable=False),
    Column("warnings", JSONB, nullable=False, server_default="[]"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("episode", "turn"),
)
Index("ix_hydration_turns_created_at", hydration_turns.c.created_at)

hydrated_entities = Table(
    "hydrated_entities",
    metadata,
    Column("turn_id", BigInteger, ForeignKey("hydration_turns.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("document_id", Uuid, ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("entity_key", Text(collation="C"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("artifact_hash", LargeBinary, nullable=False),
    Column("reasons", ARRAY(Text), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("cut", Boolean, nullable=False, server_default=text("false")),
    Column("dropped", Text),
)
Index("ix_hydrated_entities_document_id", hydrated_entities.c.document_id)
