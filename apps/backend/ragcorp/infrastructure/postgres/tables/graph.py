"""The tables of the knowledge graph, as ``tables`` has those of documents."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from ragcorp.infrastructure.postgres.tables.documents import filter_columns, metadata
from ragcorp.infrastructure.postgres.tables.items import item_backlog_table, item_embeddings_table

entities = Table(
    "entities",
    metadata,
    Column("id", BigInteger, Identity(always=False), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("external_id", Text(collation="C"), nullable=False),
    Column("name", Text, nullable=False),
    Column("aliases", ARRAY(Text), nullable=False, server_default="{}"),
    Column("keys", ARRAY(Text), Computed("entity_keys(name, aliases)", persisted=True)),
    Column("description", Text, nullable=False, server_default=""),
    *filter_columns(kind="entity"),
    Column("metadata", JSONB, nullable=False, server_default="{}"),
    # false for one that only facts name: it is read through a readable fact and not else
    Column("declared", Boolean, nullable=False, server_default=text("true")),
    Column("content_hash", LargeBinary, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("workspace", "external_id"),
)
Index("ix_entities_keys", entities.c["keys"], postgresql_using="gin", postgresql_with={"fastupdate": "off"})

entity_embeddings = item_embeddings_table("entity_embeddings", items="entities")
entity_backlog = item_backlog_table("entity_backlog", items="entities")

facts = Table(
    "facts",
    metadata,
    Column("id", BigInteger, Identity(always=False), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("external_id", Text(collation="C"), nullable=False),
    Column("subject_id", BigInteger, ForeignKey("entities.id", ondelete="CASCADE"), nullable=False),
    Column("object_id", BigInteger, ForeignKey("entities.id", ondelete="CASCADE"), nullable=False),
    Column("predicate", Text, nullable=False),
    Column("weight", Double, nullable=False, server_default="1"),
    Column("valid_from", DateTime(timezone=True)),
    Column("valid_to", DateTime(timezone=True)),
    Column("document_id", Uuid, ForeignKey("documents.id", ondelete="CASCADE")),
    Column("chunk_id", BigInteger, ForeignKey("chunks.id", ondelete="SET NULL")),
    Column("extracted", Boolean, nullable=False, server_default=text("false")),
    Column("quote", Text, nullable=False, server_default=""),
    *(column for column in filter_columns(kind="fact") if column.name != "occurred_at"),
    Column("occurred_at", DateTime(timezone=True), Computed("valid_from", persisted=True)),
    Column("metadata", JSONB, nullable=False, server_default="{}"),
    Column("lexemes", TSVECTOR),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("workspace", "external_id"),
    CheckConstraint("weight between 0 and 1", name="weight"),
    CheckConstraint("valid_to >= valid_from", name="validity"),
)
Index("ix_facts_subject_id", facts.c.subject_id, facts.c.weight, facts.c.id)
Index("ix_facts_object_id", facts.c.object_id, facts.c.weight, facts.c.id)
Index("ix_facts_lexemes", facts.c.lexemes, postgresql_using="gin", postgresql_with={"fastupdate": "off"})
Index("ix_facts_metadata", facts.c.metadata, postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"})
Index("ix_facts_document_id", facts.c.document_id)
Index("ix_facts_chunk_id", facts.c.chunk_id)

fact_extractions = Table(
    "fact_extractions",
    metadata,
    Column("workspace", Text, primary_key=True),
    Column("content_hash", LargeBinary, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("prompt_version", SmallInteger, primary_key=True, autoincrement=False),
    Column("answer", JSONB, nullable=False),
    Column("dropped", Integer, nullable=False, server_default="0"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)

extracted_chunks = Table(
    "extracted_chunks",
    metadata,
    Column("chunk_id", BigInteger, ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_version", SmallInteger, nullable=False),
)
