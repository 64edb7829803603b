"""Tables of the knowledge graph."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from ragcorp.infrastructure.postgres.tables import columns
from ragcorp.infrastructure.postgres.tables.columns import cascading, gin_index, metadata, required, text

entities = sa.Table(
    "entities",
    metadata,
    *columns.external_identity(),
    *required(sa.Text, "name"),
    columns.array("aliases"),
    sa.Column("keys", sa.ARRAY(sa.Text), sa.Computed("entity_keys(name, aliases)", persisted=True)),
    text("description"),
    *columns.filter_columns(kind="entity"),
    columns.metadata_column(),
    # false if only facts name it: then it is read only through a readable fact
    columns.flag("declared", default=True),
    *required(sa.LargeBinary, "content_hash"),
    *columns.timestamps(),
)
gin_index("ix_entities_keys", entities.c["keys"], fastupdate="off")

columns.vectors_table("entity_embeddings", "item_id", of=entities)
columns.backlog_table("entity_backlog", "item_id", of=entities)

facts = sa.Table(
    "facts",
    metadata,
    *columns.external_identity(),
    cascading("subject_id", "entities.id"),
    cascading("object_id", "entities.id"),
    *required(sa.Text, "predicate"),
    sa.Column("weight", sa.Double, nullable=False, server_default="1"),
    sa.Column("valid_from", sa.DateTime(timezone=True)),
    sa.Column("valid_to", sa.DateTime(timezone=True)),
    cascading("document_id", "documents.id", nullable=True),
    sa.Column("chunk_id", sa.BigInteger, sa.ForeignKey("chunks.id", ondelete="SET NULL")),
    columns.flag("extracted"),
    text("quote"),
    *(column for column in columns.filter_columns(kind="fact") if column.name != "occurred_at"),
    sa.Column("occurred_at", sa.DateTime(timezone=True), sa.Computed("valid_from", persisted=True)),
    columns.metadata_column(),
    sa.Column("lexemes", TSVECTOR),
    *columns.timestamps(),
    sa.CheckConstraint("weight between 0 and 1", name="weight"),
    sa.CheckConstraint("valid_to >= valid_from", name="validity"),
)
sa.Index("ix_facts_subject_id", facts.c.subject_id, facts.c.weight, facts.c.id)
sa.Index("ix_facts_object_id", facts.c.object_id, facts.c.weight, facts.c.id)
gin_index("ix_facts_lexemes", facts.c.lexemes, fastupdate="off")
gin_index("ix_facts_metadata", facts.c.metadata, operators="jsonb_path_ops")
sa.Index("ix_facts_document_id", facts.c.document_id)
sa.Index("ix_facts_chunk_id", facts.c.chunk_id)

sa.Table(
    "fact_extractions",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("content_hash", sa.LargeBinary, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("prompt_version", sa.SmallInteger, primary_key=True, autoincrement=False),
    *required(JSONB, "answer"),
    sa.Column("dropped", sa.Integer, nullable=False, server_default="0"),
    columns.moment("created_at"),
)

sa.Table(
    "extracted_chunks",
    metadata,
    cascading("chunk_id", "chunks.id", primary_key=True),
    *required(sa.Text, "workspace", "model"),
    *required(sa.SmallInteger, "prompt_version"),
)
