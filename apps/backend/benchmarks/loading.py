"""Loads a corpus straight into the real schema, by COPY, and builds the HNSW index afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime

import psycopg
from pgvector.psycopg import register_vector
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb
from sqlalchemy import NullPool, create_engine

from benchmarks.corpus import DIMENSIONS, Corpus, DocumentRow
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.infrastructure.postgres.dense.similarity_scores import STORE_MEAN
from ragcorp.infrastructure.postgres.models.embedding_models import ensure_model, hnsw_index_name
from ragcorp.infrastructure.postgres.workspaces.search_statistics import REFRESH_LEXICON

MODEL = EmbeddingModel(name="bench", dimensions=DIMENSIONS)

COPY_DOCUMENTS = """
    COPY documents (id, workspace, external_id, title, text, metadata, artifact_type, occurred_at, content_hash,
                    chunker, chunk_count, media_type, filename, size_bytes)
    FROM STDIN WITH (FORMAT binary)
"""
DOCUMENT_TYPES = (
    "uuid", "text", "text", "text", "text", "jsonb", "text", "timestamptz", "bytea",
    "text", "int4", "text", "text", "int8",
)  # fmt: skip

COPY_CHUNKS = """
    COPY chunks (id, document_id, workspace, chunk_index, title, content, artifact_type, occurred_at,
                 line_start, line_end, token_count, content_hash)
    FROM STDIN WITH (FORMAT binary)
"""
CHUNK_TYPES = (
    "int8", "uuid", "text", "int4", "text", "text", "text", "timestamptz", "int4", "int4", "int4", "bytea",
)  # fmt: skip

COPY_VECTORS = "COPY chunk_embeddings (chunk_id, model_id, workspace, embedding) FROM STDIN WITH (FORMAT binary)"
VECTOR_TYPES = ("int8", "int2", "text", "vector")


def load(owner_dsn: str, corpus: Corpus, *, application_dsn: str | None = None) -> dict[str, float]:
    """Migrate, fill and analyse the database, with fresh search statistics.

    Return the seconds that each part took, none if it is filled already.
    """
    migrate(owner_dsn, embedding_model=(MODEL.name, MODEL.dimensions), application_dsn=application_dsn)
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        if _is_loaded(connection, corpus):
            _refresh_statistics(connection)
            return {}
        register_vector(connection)
        model_id = int(str(_scalar(connection, "SELECT id FROM embedding_models WHERE active")))
        connection.execute(f"DROP INDEX {hnsw_index_name('chunk_embeddings', model_id)}")
        connection.execute("DROP INDEX ix_chunks_tsv")
        started = time.perf_counter()
        copy_documents(connection, corpus.documents())
        copy_chunks(connection, corpus.documents())
        _copy_vectors(connection, corpus, model_id)
        copied = time.perf_counter()
        connection.execute("SET maintenance_work_mem = '512MB'")
        connection.execute("CREATE INDEX ix_chunks_tsv ON chunks USING gin (tsv)")
        text_indexed = time.perf_counter()
    _build_hnsw(owner_dsn)
    indexed = time.perf_counter()
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE documents, chunks, chunk_embeddings, embedding_backlog")
        connection.execute(f"COMMENT ON COLUMN documents.external_id IS '{corpus.name}'")
        _refresh_statistics(connection)
    return {
        "copy": copied - started,
        "gin": text_indexed - copied,
        "hnsw": indexed - text_indexed,
        "statistics": time.perf_counter() - indexed,
    }


def _refresh_statistics(connection: Connection[TupleRow]) -> None:
    stale = connection.execute("SELECT workspace FROM search_statistics WHERE is_stale").fetchall()
    for (workspace,) in stale:
        for statement in ("SELECT bm25_refresh(%(workspace)s)", STORE_MEAN, REFRESH_LEXICON):
            connection.execute(statement, {"workspace": workspace})
    if stale:
        connection.execute("SELECT bm25_flush()")
        connection.execute("VACUUM ANALYZE bm25_workspaces, bm25_changes, bm25_statistics, lexicon")


def _is_loaded(connection: Connection[TupleRow], corpus: Corpus) -> bool:
    mark = _scalar(
        connection,
        "SELECT col_description('documents'::regclass, attnum) FROM pg_attribute "
        "WHERE attrelid = 'documents'::regclass AND attname = 'external_id'",
    )
    if mark == corpus.name:
        return True
    if _scalar(connection, "SELECT EXISTS (SELECT 1 FROM documents)"):
        raise SystemExit("The database holds documents already: give the benchmark a database of its own.")
    return False


def copy_documents(connection: Connection[TupleRow], documents: Iterable[DocumentRow]) -> None:
    with connection.cursor().copy(COPY_DOCUMENTS) as copy:
        copy.set_types(DOCUMENT_TYPES)
        for document in documents:
            text = "\n\n".join(document.contents)
            copy.write_row(
                (
                    document.id, document.workspace, document.external_id, document.external_id, text,
                    Jsonb({"project": document.project}), document.artifact_type, OCCURRED_AT,
                    document.id.bytes, "bench", len(document.contents), "text/markdown",
                    document.external_id, len(text),
                )
            )  # fmt: skip


def copy_chunks(connection: Connection[TupleRow], documents: Iterable[DocumentRow]) -> None:
    with connection.cursor().copy(COPY_CHUNKS) as copy:
        copy.set_types(CHUNK_TYPES)
        for document in documents:
            for index, content in enumerate(document.contents):
                copy.write_row(
                    (
                        document.chunk_ids[index], document.id, document.workspace, index, document.external_id,
                        content, document.artifact_type, OCCURRED_AT, index * 10 + 1, index * 10 + 9,
                        200, document.id.bytes,
                    )
                )  # fmt: skip
    connection.execute("SELECT setval(pg_get_serial_sequence('chunks', 'id'), (SELECT max(id) FROM chunks))")


def _copy_vectors(connection: Connection[TupleRow], corpus: Corpus, model_id: int) -> None:
    vectors = corpus.vectors()
    with connection.cursor().copy(COPY_VECTORS) as copy:
        copy.set_types(VECTOR_TYPES)
        for number in range(corpus.chunks):
            copy.write_row((number + 1, model_id, corpus.workspace_of_chunk(number), vectors[number]))


def _build_hnsw(owner_dsn: str) -> None:
    engine = create_engine(
        "postgresql+psycopg://",
        poolclass=NullPool,
        creator=lambda: psycopg.connect(owner_dsn, options="-c maintenance_work_mem=512MB"),
    )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        ensure_model(connection, name=MODEL.name, dimensions=MODEL.dimensions)


def _scalar(connection: Connection[TupleRow], statement: str) -> object:
    row = connection.execute(statement).fetchone()
    assert row is not None
    return row[0]


OCCURRED_AT = datetime(2026, 3, 31, tzinfo=UTC)
