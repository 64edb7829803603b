"""Tables of documents, chunks, embedding models and search statistics."""

import sqlalchemy as sa
from pgvector.sqlalchemy import Vector
from sqlalchemy.dialects.postgresql import TSVECTOR

from ragcorp.infrastructure.postgres.tables import columns
from ragcorp.infrastructure.postgres.tables.columns import array, cascading, metadata, moment, required, text

documents = sa.Table(
    "documents",
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),
    *required(sa.Text, "workspace", "text", "chunker", "media_type", "filename"),
    # "C" keeps prefix scans and the order of pages independent of the server's locale
    *required(sa.String(collation="C"), "external_id"),
    text("title"),
    sa.Column("path", sa.Text),
    array("page_starts", sa.Integer),
    columns.metadata_column(),
    *columns.filter_columns(),
    *required(sa.LargeBinary, "content_hash"),
    *required(sa.Integer, "chunk_count"),
    *required(sa.BigInteger, "size_bytes"),
    *columns.timestamps(),
    sa.Column("deleted_at", sa.DateTime(timezone=True)),
    sa.UniqueConstraint("workspace", "external_id"),
)
columns.gin_index("ix_documents_metadata", documents.c.metadata, operators="jsonb_path_ops")

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
    cascading("document_id", "documents.id", primary_key=True),
    *required(sa.LargeBinary, "content"),
)

chunks = sa.Table(
    "chunks",
    metadata,
    columns.identity(),
    cascading("document_id", "documents.id"),
    *required(sa.Text, "workspace", "content"),
    *required(sa.Integer, "chunk_index", "line_start", "line_end", "token_count"),
    text("title"),
    array("heading_path"),
    *columns.filter_columns(),
    sa.Column("page_start", sa.Integer),
    sa.Column("page_end", sa.Integer),
    *required(sa.LargeBinary, "content_hash"),
    sa.Column("tsv", TSVECTOR, sa.Computed("to_tsvector('spanish', coalesce(content, ''))", persisted=True)),
    sa.Column(
        "lexemes", TSVECTOR, sa.Computed("chunk_lexemes(language, title, heading_path, content)", persisted=True)
    ),
    sa.UniqueConstraint("document_id", "chunk_index"),
)
sa.Index("ix_chunks_workspace", chunks.c.workspace)
columns.gin_index("ix_chunks_tsv", chunks.c.tsv)

embedding_models = sa.Table(
    "embedding_models",
    metadata,
    sa.Column("id", sa.SmallInteger, sa.Identity(always=False), primary_key=True),
    *required(sa.Text, "name"),
    *required(sa.Integer, "dimensions"),
    columns.flag("active"),
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

columns.vectors_table("chunk_embeddings", "chunk_id", of=chunks)
embedding_backlog = columns.backlog_table(
    "embedding_backlog", "chunk_id", cascading("document_id", "documents.id"), of=chunks
)
sa.Index("ix_embedding_backlog_document_id", embedding_backlog.c.document_id)

embedding_cache = sa.Table(
    "embedding_cache",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("content_hash", sa.LargeBinary, primary_key=True),
    sa.Column("model_id", sa.SmallInteger, sa.ForeignKey("embedding_models.id"), primary_key=True),
    *required(Vector(), "embedding"),
    moment("created_at"),
    moment("last_used_at"),
)
sa.Index("ix_embedding_cache_last_used_at", embedding_cache.c.last_used_at)

workspace_means = sa.Table(
    "workspace_means",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("model_id", sa.SmallInteger, sa.ForeignKey("embedding_models.id"), primary_key=True),
    *required(sa.BigInteger, "chunks"),
    *required(Vector(), "mean_vector"),
)

bm25_workspaces = sa.Table(
    "bm25_workspaces",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(always=True), primary_key=True),
    *required(sa.Text, "workspace"),
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
    *required(sa.Integer, "workspace_id", "length"),
    *required(sa.ARRAY(sa.Integer), "terms"),
)
sa.Index("ix_bm25_chunks_workspace_id", bm25_chunks.c.workspace_id)
columns.gin_index(
    "ix_bm25_chunks_impacts",
    sa.func.bm25_impacts(bm25_chunks.c.terms, bm25_chunks.c.length),
    fastupdate="on",
    gin_pending_list_limit=512,
)

bm25_changes = sa.Table(
    "bm25_changes",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    *required(sa.Integer, "workspace_id"),
    *required(sa.BigInteger, "changed", "chunks", "total_length"),
)
sa.Index("ix_bm25_changes_workspace_id", bm25_changes.c.workspace_id)

sa.Table(
    "bm25_statistics",
    metadata,
    sa.Column("workspace_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Integer, primary_key=True, autoincrement=False),
    *required(sa.ARRAY(sa.Integer), "levels"),
)

lexicon = sa.Table(
    "lexicon",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("word", sa.Text(collation="C"), primary_key=True),
    sa.Column("lexeme", sa.Text(collation="C"), primary_key=True),
    *required(sa.Text(collation="C"), "sound"),
)
sa.Index("ix_lexicon_workspace_sound", lexicon.c.workspace, lexicon.c.sound)
columns.gin_index("ix_lexicon_word", lexicon.c.word, operators="gin_trgm_ops")

sa.Table(
    "lexicon_progress",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    *required(sa.BigInteger, "read_to", "complete_to", "next_transaction"),
)

sa.Table(
    "chunk_languages",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("language", sa.Text, primary_key=True),
)

sa.Table(
    "default_languages", metadata, sa.Column("workspace", sa.Text, primary_key=True), *required(sa.Text, "language")
)
