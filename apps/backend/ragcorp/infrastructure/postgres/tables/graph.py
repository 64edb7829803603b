"""Tables of the knowledge graph."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from ragcorp.infrastructure.postgres.tables.columns import (
    backlog_table,
    filter_columns,
    identity,
    metadata,
    timestamps,
    vectors_table,
)

entities = sa.Table(
    "entities",
    metadata,
    identity(),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("external_id", sa.Text(collation="C"), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("aliases", sa.ARRAY(sa.Text), nullable=False, server_default="{}"),
    sa.Column("keys", sa.ARRAY(sa.Text), sa.Computed("entity_keys(name, aliases)", persisted=True)),
    sa.Column("description", sa.Text, nullable=False, server_default=""),
    *filter_columns(kind="entity"),
    sa.Column("metadata", JSONB, nullable=False, server_default="{}"),
    # false for one that only facts name: it is read through a readable fact and not else
    sa.Column("declared", sa.Boolean, nullable=False, server_default=sa.text("true")),
    sa.Column("content_hash", sa.LargeBinary, nullable=False),
    *timestamps(),
    sa.UniqueConstraint("workspace", "external_id"),
)
sa.Index("ix_entities_keys", entities.c["keys"], postgresql_using="gin", postgresql_with={"fastupdate": "off"})

entity_embeddings = vectors_table("entity_embeddings", "item_id", of=entities)
entity_backlog = backlog_table("entity_backlog", "item_id", of=entities)

facts = sa.Table(
    "facts",
    metadata,
    identity(),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("external_id", sa.Text(collation="C"), nullable=False),
    sa.Column("subject_id", sa.BigInteger, sa.ForeignKey("entities.id", ondelete="CASCADE"), nullable=False),
    sa.Column("object_id", sa.BigInteger, sa.ForeignKey("entities.id", ondelete="CASCADE"), nullable=False),
    sa.Column("predicate", sa.Text, nullable=False),
    sa.Column("weight", sa.Double, nullable=False, server_default="1"),
    sa.Column("valid_from", sa.DateTime(timezone=True)),
    sa.Column("valid_to", sa.DateTime(timezone=True)),
    sa.Column("document_id", sa.Uuid, sa.ForeignKey("documents.id", ondelete="CASCADE")),
    sa.Column("chunk_id", sa.BigInteger, sa.ForeignKey("chunks.id", ondelete="SET NULL")),
    sa.Column("extracted", sa.Boolean, nullable=False, server_default=sa.text("false")),
    sa.Column("quote", sa.Text, nullable=False, server_default=""),
    *(column for column in filter_columns(kind="fact") if column.name != "occurred_at"),
    sa.Column("occurred_at", sa.DateTime(timezone=True), sa.Computed("valid_from", persisted=True)),
    sa.Column("metadata", JSONB, nullable=False, server_default="{}"),
    sa.Column("lexemes", TSVECTOR),
    *timestamps(),
    sa.UniqueConstraint("workspace", "external_id"),
    sa.CheckConstraint("weight between 0 and 1", name="weight"),
    sa.CheckConstraint("valid_to >= valid_from", name="validity"),
)
sa.Index("ix_facts_subject_id", facts.c.subject_id, facts.c.weight, facts.c.id)
sa.Index("ix_facts_object_id", facts.c.object_id, facts.c.weight, facts.c.id)
sa.Index("ix_facts_lexemes", facts.c.lexemes, postgresql_using="gin", postgresql_with={"fastupdate": "off"})
sa.Index("ix_facts_metadata", facts.c.metadata, postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"})
sa.Index("ix_facts_document_id", facts.c.document_id)
sa.Index("ix_facts_chunk_id", facts.c.chunk_id)

fact_extractions = sa.Table(
    "fact_extractions",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("content_hash", sa.LargeBinary, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("prompt_version", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("answer", JSONB, nullable=False),
    sa.Column("dropped", sa.Integer, nullable=False, server_default="0"),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
)

extracted_chunks = sa.Table(
    "extracted_chunks",
    metadata,
    sa.Column("chunk_id", sa.BigInteger, sa.ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("prompt_version", sa.SmallInteger, nullable=False),
)
