"""The schema as SQLAlchemy Core tables. Alembic owns the database; this is what it is checked against."""

from __future__ import annotations

from pgvector.sqlalchemy import Vector
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
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def filter_columns(*, kind: str = "document", dated: bool = False) -> list[Column[object] | CheckConstraint]:
    """The columns that filters and visibility read; they stand on documents and, copied, on chunks.

    ``dated``: what has no moment of its own is of the moment in which it is stored.
    """
    return [
        Column("language", Text, nullable=False, server_default="es"),
        Column("artifact_type", Text, nullable=False, server_default=kind),
        Column("sensitivity", SmallInteger, nullable=False, server_default="1"),
        Column("visibility_scope", Text, nullable=False, server_default="workspace"),
        Column("owner", Text, nullable=False, server_default=""),
        Column(
            "occurred_at", DateTime(timezone=True), nullable=not dated, server_default=func.now() if dated else None
        ),
        CheckConstraint("sensitivity between 0 and 3", name="sensitivity"),
        CheckConstraint("visibility_scope in ('workspace', 'group', 'private')", name="visibility_scope"),
    ]


documents = Table(
    "documents",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("workspace", Text, nullable=False),
    # "C" keeps prefix scans and the order of pages independent of the server's locale
    Column("external_id", String(collation="C"), nullable=False),
    Column("title", Text, nullable=False, server_default=""),
    Column("path", Text),
    Column("text", Text, nullable=False),
    Column("page_starts", ARRAY(Integer), nullable=False, server_default="{}"),
    Column("metadata", JSONB, nullable=False, server_default="{}"),
    *filter_columns(),
    Column("content_hash", LargeBinary, nullable=False),
    Column("chunker", Text, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("deleted_at", DateTime(timezone=True)),
    UniqueConstraint("workspace", "external_id"),
)
Index(
    "ix_documents_metadata", documents.c.metadata, postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}
)

Index("ix_documents_workspace_path_key", documents.c.workspace, func.path_key(documents.c.path))
Index(
    "ix_documents_workspace_external_id_key",
    documents.c.workspace,
    func.path_key(documents.c.external_id),
    postgresql_where=text("path IS DISTINCT FROM external_id"),
)

document_sources = Table(
    "document_sources",
    metadata,
    Column("document_id", Uuid, ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

chunks = Table(
    "chunks",
    metadata,
    Column("id", BigInteger, Identity(always=False), primary_key=True),
    Column("document_id", Uuid, ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("workspace", Text, nullable=False),
    Column("chunk_index", Integer, nullable=False),
    Column("title", Text, nullable=False, server_default=""),
    Column("heading_path", ARRAY(Text), nullable=False, server_default="{}"),
    Column("content", Text, nullable=False),
    *filter_columns(),
    Column("line_start", Integer, nullable=False),
    Column("line_end", Integer, nullable=False),
    Column("page_start", Integer),
    Column("page_end", Integer),
    Column("token_count", Integer, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("tsv", TSVECTOR, Computed("to_tsvector('spanish', coalesce(content, ''))", persisted=True)),
    Column("lexemes", TSVECTOR, Computed("chunk_lexemes(language, title, heading_path, content)", persisted=True)),
    UniqueConstraint("document_id", "chunk_index"),
)
Index("ix_chunks_workspace", chunks.c.workspace)
Index("ix_chunks_tsv", chunks.c.tsv, postgresql_using="gin")

embedding_models = Table(
    "embedding_models",
    metadata,
    Column("id", SmallInteger, Identity(always=False), primary_key=True),
    Column("name", Text, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column("active", Boolean, nullable=False, server_default=text("false")),
    Column("evidence_weight", Double),
    Column("identifier_weight", Double),
    Column("distance_threshold", Double),
    Column("similarity_threshold", Double),
    UniqueConstraint("name", "dimensions"),
    CheckConstraint("dimensions between 1 and 4000", name="dimensions"),
    CheckConstraint("evidence_weight >= 0", name="evidence_weight"),
    CheckConstraint("identifier_weight >= 0", name="identifier_weight"),
    CheckConstraint("distance_threshold > 0 and distance_threshold <= 2", name="distance_threshold"),
    CheckConstraint("similarity_threshold > -1 and similarity_threshold < 1", name="similarity_threshold"),
)
Index("ix_embedding_models_active", embedding_models.c.active, unique=True, postgresql_where=text("active"))

# A row a chunk and model: a second model's vectors stand beside the first's, each with an HNSW index of its own
# (see embedding_models.py), since one HNSW graph cannot hold two spaces.
chunk_embeddings = Table(
    "chunk_embeddings",
    metadata,
    Column("chunk_id", BigInteger, ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    Column("model_id", SmallInteger, ForeignKey("embedding_models.id"), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("embedding", Vector(), nullable=False),
)
Index("ix_chunk_embeddings_workspace", chunk_embeddings.c.model_id, chunk_embeddings.c.workspace)

embedding_backlog = Table(
    "embedding_backlog",
    metadata,
    Column("chunk_id", BigInteger, ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    Column("document_id", Uuid, ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("workspace", Text, nullable=False),
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    Column("available_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("failed", Boolean, nullable=False, server_default=text("false")),
    Column("reason", Text),
)
Index("ix_embedding_backlog_workspace", embedding_backlog.c.workspace)
Index("ix_embedding_backlog_document_id", embedding_backlog.c.document_id)
Index("ix_embedding_backlog_available_at", embedding_backlog.c.available_at, postgresql_where=text("not failed"))

embedding_cache = Table(
    "embedding_cache",
    metadata,
    Column("workspace", Text, primary_key=True),
    Column("content_hash", LargeBinary, primary_key=True),
    Column("model_id", SmallInteger, ForeignKey("embedding_models.id"), primary_key=True),
    Column("embedding", Vector(), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("last_used_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
Index("ix_embedding_cache_last_used_at", embedding_cache.c.last_used_at)

workspace_means = Table(
    "workspace_means",
    metadata,
    Column("workspace", Text, primary_key=True),
    Column("model_id", SmallInteger, ForeignKey("embedding_models.id"), primary_key=True),
    Column("chunks", BigInteger, nullable=False),
    Column("mean_vector", Vector(), nullable=False),
)

bm25_workspaces = Table(
    "bm25_workspaces",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("chunks", BigInteger, nullable=False, server_default=text("0")),
    Column("total_length", BigInteger, nullable=False, server_default=text("0")),
    Column("refreshed_at", DateTime(timezone=True)),
    UniqueConstraint("workspace"),
)

# A row a chunk, kept by the triggers of migration 005; without a foreign key, whose check would cost each write more
# than the row.
bm25_chunks = Table(
    "bm25_chunks",
    metadata,
    Column("chunk_id", BigInteger, primary_key=True, autoincrement=False),
    Column("workspace_id", Integer, nullable=False),
    Column("length", Integer, nullable=False),
    Column("terms", ARRAY(Integer), nullable=False),
)
Index("ix_bm25_chunks_workspace_id", bm25_chunks.c.workspace_id)
Index(
    "ix_bm25_chunks_impacts",
    func.bm25_impacts(bm25_chunks.c.terms, bm25_chunks.c.length),
    postgresql_using="gin",
    postgresql_with={"fastupdate": "on", "gin_pending_list_limit": 512},
)

bm25_changes = Table(
    "bm25_changes",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("workspace_id", Integer, nullable=False),
    Column("changed", BigInteger, nullable=False),
    Column("chunks", BigInteger, nullable=False),
    Column("total_length", BigInteger, nullable=False),
)
Index("ix_bm25_changes_workspace_id", bm25_changes.c.workspace_id)

bm25_statistics = Table(
    "bm25_statistics",
    metadata,
    Column("workspace_id", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("levels", ARRAY(Integer), nullable=False),
)

lexicon = Table(
    "lexicon",
    metadata,
    Column("workspace", Text, primary_key=True),
    Column("word", Text(collation="C"), primary_key=True),
    Column("lexeme", Text(collation="C"), primary_key=True),
    Column("sound", Text(collation="C"), nullable=False),
)
Index("ix_lexicon_workspace_sound", lexicon.c.workspace, lexicon.c.sound)
Index("ix_lexicon_word", lexicon.c.word, postgresql_using="gin", postgresql_ops={"word": "gin_trgm_ops"})

lexicon_progress = Table(
    "lexicon_progress",
    metadata,
    Column("workspace", Text, primary_key=True),
    Column("read_to", BigInteger, nullable=False),
    Column("complete_to", BigInteger, nullable=False),
    Column("next_transaction", BigInteger, nullable=False),
)

chunk_languages = Table(
    "chunk_languages",
    metadata,
    Column("workspace", Text, primary_key=True),
    Column("language", Text, primary_key=True),
)

default_languages = Table(
    "default_languages",
    metadata,
    Column("workspace", Text, primary_key=True),
    Column("language", Text, nullable=False),
)
