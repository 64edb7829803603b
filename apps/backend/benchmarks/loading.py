"""Loads a corpus into the real schema by COPY, builds the indexes, and refreshes the statistics that ranking uses."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice

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


DOCUMENTS_PER_COPY = 2000
"""As an import would: the triggers keep the rows of a COPY in memory or on disk until it ends."""

BYTES_OF_A_VECTOR_IN_A_BUILD = 3000
"""An HNSW build that does not fit ``maintenance_work_mem`` takes many times as long."""

TEXT_INDEXES = """
    SELECT pg_get_indexdef(to_regclass(name)) FROM unnest('{ix_chunks_tsv,ix_bm25_chunks_impacts}'::text[]) AS name
    WHERE to_regclass(name) IS NOT NULL
"""


def load(owner_dsn: str, corpus: Corpus, *, application_dsn: str | None = None) -> dict[str, float]:
    """Migrate, fill and analyse the database; return the seconds of each part, of a filled one the refresh alone."""
    migrate(owner_dsn, embedding_model=(MODEL.name, MODEL.dimensions), application_dsn=application_dsn)
    seconds: dict[str, float] = {}
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        if not _is_loaded(connection, corpus):
            seconds = _fill(connection, owner_dsn, corpus)
        started = time.perf_counter()
        refresh_statistics(connection)
    return seconds | {"statistics": time.perf_counter() - started}


def _fill(connection: Connection[TupleRow], owner_dsn: str, corpus: Corpus) -> dict[str, float]:
    register_vector(connection)
    model_id = int(str(_scalar(connection, "SELECT id FROM embedding_models WHERE active")))
    connection.execute(f"DROP INDEX {hnsw_index_name('chunk_embeddings', model_id)}")
    text_indexes = [row[0] for row in connection.execute(TEXT_INDEXES).fetchall()]
    connection.execute("DROP INDEX IF EXISTS ix_chunks_tsv, ix_bm25_chunks_impacts")
    started = time.perf_counter()
    documents = corpus.documents()
    while batch := list(islice(documents, DOCUMENTS_PER_COPY)):
        copy_documents(connection, batch)
        copy_chunks(connection, batch)
    texts = time.perf_counter()
    _copy_vectors(connection, corpus, model_id)
    vectors = time.perf_counter()
    memory = f"{max(512, corpus.chunks * BYTES_OF_A_VECTOR_IN_A_BUILD // 2**20)}MB"
    connection.execute(f"SET maintenance_work_mem = '{memory}'")
    for definition in text_indexes:
        connection.execute(definition)
    text_indexed = time.perf_counter()
    _build_hnsw(owner_dsn, memory)
    indexed = time.perf_counter()
    connection.execute("VACUUM ANALYZE documents, chunks, chunk_embeddings, embedding_backlog, bm25_chunks")
    connection.execute(f"COMMENT ON COLUMN documents.external_id IS '{corpus.name}'")
    return {
        "texts": texts - started,
        "vectors": vectors - texts,
        "GIN indexes": text_indexed - vectors,
        "HNSW index": indexed - text_indexed,
        "vacuum": time.perf_counter() - indexed,
    }


def refresh_statistics(connection: Connection[TupleRow]) -> None:
    """Bring the snapshots of every workspace up to date; quick where they are fresh."""
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
    with connection.cursor().copy(COPY_VECTORS) as copy:
        copy.set_types(VECTOR_TYPES)
        number = 0
        for block in corpus.vector_blocks():
            for vector in block:
                copy.write_row((number + 1, model_id, corpus.workspace_of_chunk(number), vector))
                number += 1


def _build_hnsw(owner_dsn: str, memory: str) -> None:
    engine = create_engine(
        "postgresql+psycopg://",
        poolclass=NullPool,
        creator=lambda: psycopg.connect(owner_dsn, options=f"-c maintenance_work_mem={memory}"),
    )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        ensure_model(connection, name=MODEL.name, dimensions=MODEL.dimensions)


def _scalar(connection: Connection[TupleRow], statement: str, **values: object) -> object:
    row = connection.execute(statement, values or None).fetchone()
    assert row is not None
    return row[0]


OCCURRED_AT = datetime(2026, 3, 31, tzinfo=UTC)
