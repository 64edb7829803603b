"""Tables of documents, chunks, embedding models and search statistics."""

import sqlalchemy as sa
from pgvector.sqlalchemy import Vector
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from ragcorp.infrastructure.postgres.tables.columns import (
    backlog_table,
    filter_columns,
    identity,
    metadata,
    timestamps,
    vectors_table,
)

documents = sa.Table(
    "documents",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    sa.Column("workspace", sa.Text, nullable=False),
    # "C" keeps prefix scans and the order of pages independent of the server's locale
    sa.Column("external_id", sa.String(collation="C"), nullable=False),
    sa.Column("title", sa.Text, nullable=False, server_default=""),
    sa.Column("path", sa.Text),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("page_starts", sa.ARRAY(sa.Integer), nullable=False, server_default="{}"),
    sa.Column("metadata", JSONB, nullable=False, server_default="{}"),
    *filter_columns(),
    sa.Column("content_hash", sa.LargeBinary, nullable=False),
    sa.Column("chunker", sa.Text, nullable=False),
    sa.Column("chunk_count", sa.Integer, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("filename", sa.Text, nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    *timestamps(),
    sa.Column("deleted_at", sa.DateTime(timezone=True)),
    sa.UniqueConstraint("workspace", "external_id"),
)
sa.Index(
    "ix_documents_metadata", documents.c.metadata, postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}
)

sa.Index("ix_documents_workspace_path_key", documents.c.workspace, sa.func.path_key(documents.c.path))
sa.Index(
    "ix_documents_workspace_external_id_key",
    documents.c.workspace,
    sa.func.path_key(documents.c.external_id),
    postgresql_where=sa.text("path IS DISTINCT FROM external_id"),
)

document_sources = sa.Table(
    "document_sources",
    metadata,
    sa.Column("document_id", sa.Uuid, sa.ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

chunks = sa.Table(
    "chunks",
    metadata,
    identity(),
    sa.Column("document_id", sa.Uuid, sa.ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("chunk_index", sa.Integer, nullable=False),
    sa.Column("title", sa.Text, nullable=False, server_default=""),
    sa.Column("heading_path", sa.ARRAY(sa.Text), nullable=False, server_default="{}"),
    sa.Column("content", sa.Text, nullable=False),
    *filter_columns(),
    sa.Column("line_start", sa.Integer, nullable=False),
    sa.Column("line_end", sa.Integer, nullable=False),
    sa.Column("page_start", sa.Integer),
    sa.Column("page_end", sa.Integer),
    sa.Column("token_count", sa.Integer, nullable=False),
    sa.Column("content_hash", sa.LargeBinary, nullable=False),
    sa.Column("tsv", TSVECTOR, sa.Computed("to_tsvector('spanish', coalesce(content, ''))", persisted=True)),
    sa.Column(
        "lexemes", TSVECTOR, sa.Computed("chunk_lexemes(language, title, heading_path, content)", persisted=True)
    ),
    sa.UniqueConstraint("document_id", "chunk_index"),
)
sa.Index("ix_chunks_workspace", chunks.c.workspace)
sa.Index("ix_chunks_tsv", chunks.c.tsv, postgresql_using="gin")

embedding_models = sa.Table(
    "embedding_models",
    metadata,
    sa.Column("id", sa.SmallInteger, sa.Identity(always=False), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("dimensions", sa.Integer, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False, server_default=sa.text("false")),
    sa.Column("evidence_weight", sa.Double),
    sa.Column("identifier_weight", sa.Double),
    sa.Column("distance_threshold", sa.Double),
    sa.Column("similarity_threshold", sa.Double),
    sa.UniqueConstraint("name", "dimensions"),
    sa.CheckConstraint("dimensions between 1 and 4000", name="dimensions"),
    sa.CheckConstraint("evidence_weight >= 0", name="evidence_weight"),
    sa.CheckConstraint("identifier_weight >= 0", name="identifier_weight"),
    sa.CheckConstraint("distance_threshold > 0 and distance_threshold <= 2", name="distance_threshold"),
    sa.CheckConstraint("similarity_threshold > -1 and similarity_threshold < 1", name="similarity_threshold"),
)
sa.Index("ix_embedding_models_active", embedding_models.c.active, unique=True, postgresql_where=sa.text("active"))

chunk_embeddings = vectors_table("chunk_embeddings", "chunk_id", of=chunks)
embedding_backlog = backlog_table(
    "embedding_backlog",
    "chunk_id",
    sa.Column("document_id", sa.Uuid, sa.ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    of=chunks,
)
sa.Index("ix_embedding_backlog_document_id", embedding_backlog.c.document_id)

embedding_cache = sa.Table(
    "embedding_cache",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("content_hash", sa.LargeBinary, primary_key=True),
    sa.Column("model_id", sa.SmallInteger, sa.ForeignKey("embedding_models.id"), primary_key=True),
    sa.Column("embedding", Vector(), nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
)
sa.Index("ix_embedding_cache_last_used_at", embedding_cache.c.last_used_at)

workspace_means = sa.Table(
    "workspace_means",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("model_id", sa.SmallInteger, sa.ForeignKey("embedding_models.id"), primary_key=True),
    sa.Column("chunks", sa.BigInteger, nullable=False),
    sa.Column("mean_vector", Vector(), nullable=False),
)

bm25_workspaces = sa.Table(
    "bm25_workspaces",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(always=True), primary_key=True),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("chunks", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("total_length", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("refreshed_at", sa.DateTime(timezone=True)),
    sa.UniqueConstraint("workspace"),
)

# A row a chunk, kept by the triggers of migration 005; without a foreign key, whose check would cost each write more
# than the row.
bm25_chunks = sa.Table(
    "bm25_chunks",
    metadata,
    sa.Column("chunk_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("workspace_id", sa.Integer, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("terms", sa.ARRAY(sa.Integer), nullable=False),
)
sa.Index("ix_bm25_chunks_workspace_id", bm25_chunks.c.workspace_id)
sa.Index(
    "ix_bm25_chunks_impacts",
    sa.func.bm25_impacts(bm25_chunks.c.terms, bm25_chunks.c.length),
    postgresql_using="gin",
    postgresql_with={"fastupdate": "on", "gin_pending_list_limit": 512},
)

bm25_changes = sa.Table(
    "bm25_changes",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("workspace_id", sa.Integer, nullable=False),
    sa.Column("changed", sa.BigInteger, nullable=False),
    sa.Column("chunks", sa.BigInteger, nullable=False),
    sa.Column("total_length", sa.BigInteger, nullable=False),
)
sa.Index("ix_bm25_changes_workspace_id", bm25_changes.c.workspace_id)

bm25_statistics = sa.Table(
    "bm25_statistics",
    metadata,
    sa.Column("workspace_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("levels", sa.ARRAY(sa.Integer), nullable=False),
)

lexicon = sa.Table(
    "lexicon",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("word", sa.Text(collation="C"), primary_key=True),
    sa.Column("lexeme", sa.Text(collation="C"), primary_key=True),
    sa.Column("sound", sa.Text(collation="C"), nullable=False),
)
sa.Index("ix_lexicon_workspace_sound", lexicon.c.workspace, lexicon.c.sound)
sa.Index("ix_lexicon_word", lexicon.c.word, postgresql_using="gin", postgresql_ops={"word": "gin_trgm_ops"})

lexicon_progress = sa.Table(
    "lexicon_progress",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("read_to", sa.BigInteger, nullable=False),
    sa.Column("complete_to", sa.BigInteger, nullable=False),
    sa.Column("next_transaction", sa.BigInteger, nullable=False),
)

chunk_languages = sa.Table(
    "chunk_languages",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("language", sa.Text, primary_key=True),
)

default_languages = sa.Table(
    "default_languages",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("language", sa.Text, nullable=False),
)
