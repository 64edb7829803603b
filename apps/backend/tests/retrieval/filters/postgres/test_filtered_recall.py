"""The HNSW scan goes on under a policy until it has its limit of a workspace that is 0.5 % of the vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense import statements
from ragcorp.infrastructure.postgres.models.embedding_models import hnsw_index_name, vector_index
from ragcorp.infrastructure.postgres.models.registry import active_model
from ragcorp.infrastructure.postgres.tables.collections import CHUNKS
from ragcorp.infrastructure.postgres.visibility.predicates import visibility
from support.models.embedders import TEST_MODEL
from support.storage.postgres import open_database

pytestmark = pytest.mark.anyio

ONE_IN, QUERIES = 200, 20
COPY = "COPY chunk_embeddings (chunk_id, model_id, workspace, embedding) FROM STDIN"

FILL = """
    INSERT INTO documents (id, workspace, external_id, text, content_hash, chunker, chunk_count, media_type, filename,
                           size_bytes)
    SELECT md5(w)::uuid, w, 'd', '', '', 'test', 0, 'text/plain', '', 0 FROM unnest(ARRAY['small', 'large']) AS w;
    INSERT INTO chunks (id, document_id, workspace, chunk_index, content, line_start, line_end, token_count,
                        content_hash)
    SELECT n, md5(w)::uuid, w, n, '', 1, 1, 1, ''
    FROM generate_series(1, {chunks}) AS n,
         LATERAL (SELECT CASE WHEN n % {one_in} = 0 THEN 'small' ELSE 'large' END AS w) AS named;
"""


@pytest.fixture(params=[4_000, pytest.param(20_000, marks=pytest.mark.soak)])
def vectors(request: pytest.FixtureRequest, postgres_server: Any, database_name: str) -> np.ndarray:
    results = np.random.default_rng(7).standard_normal((request.param, TEST_MODEL.dimensions))
    results /= np.linalg.norm(results, axis=1, keepdims=True)
    dsn = postgres_server.dsn(database_name, role="postgres")
    with psycopg.connect(dsn) as superuser:
        (model_id,) = superuser.execute("SELECT id FROM embedding_models WHERE active").fetchone() or (0,)
        superuser.execute(f"DROP INDEX {hnsw_index_name('chunk_embeddings', model_id)}".encode())
        superuser.execute("SET session_replication_role = replica")  # no triggers: this is about vectors alone
        for statement in FILL.format(chunks=request.param, one_in=ONE_IN).split(";\n")[:2]:
            superuser.execute(statement.encode())
        with superuser.cursor().copy(COPY) as copy:
            for number, vector in enumerate(results, start=1):
                workspace = "large" if number % ONE_IN else "small"
                copy.write_row((number, model_id, workspace, str(vector.round(6).tolist())))
        definition = vector_index("chunk_embeddings", model_id=model_id, dimensions=TEST_MODEL.dimensions)
        superuser.execute(f"CREATE INDEX {hnsw_index_name('chunk_embeddings', model_id)} {definition}".encode())
    with psycopg.connect(dsn, autocommit=True) as superuser:
        superuser.execute("ANALYZE documents, chunks, chunk_embeddings")
    return results


async def nearest(database: Database, statement: str, query: np.ndarray, workspace: str) -> list[TupleRow]:
    values = visibility(Principal(workspace=workspace)).values | {"embedding": PgVector(query.tolist())}
    async with database.autocommit(workspace) as connection:
        async with connection.pipeline():
            await connection.execute(statements.SCAN_SETTINGS, {"ef_search": "100", "max_scan_tuples": "200000"})
            cursor = await connection.execute(statement, values, binary=True)
        return await cursor.fetchall()


async def test_half_a_percent_of_the_vectors_fills_the_limit(dsn: str, vectors: np.ndarray) -> None:
    own = np.arange(ONE_IN, len(vectors) + 1, ONE_IN)
    limit = len(own) // 2
    async with open_database(dsn) as database:
        model = await active_model(database, configured=TEST_MODEL)
        assert model is not None
        whole = statements.similar(
            CHUNKS, model_id=model.id, dimensions=model.dimensions, limit=limit, visible=visibility(Principal()).sql
        )
        # without what compares all of a few, and without what makes up for too few
        few = " ".join(statements.EXACT_LIMIT.format(vectors="chunk_embeddings").split())
        too_few = f"(SELECT count(*) FROM nearest) < {limit}"
        assert (whole.count(few), whole.count(too_few)) == (1, 2)
        scan_alone = whole.replace(few, "SELECT -1 AS items").replace(too_few, "false")
        for statement in (whole, scan_alone):
            hits = 0
            for query in np.random.default_rng(8).standard_normal((QUERIES, TEST_MODEL.dimensions)):
                results = {row[2] for row in await nearest(database, statement, query, "small")}
                assert len(results) == limit
                assert results <= set(own.tolist())
                hits += len(results & set(own[np.argsort(-(vectors[own - 1] @ query))[:limit]].tolist()))
            assert hits / (QUERIES * limit) >= 0.95
        async with database.autocommit("small") as connection:
            cursor = await connection.execute("SELECT count(*) FROM chunk_embeddings")
            assert await cursor.fetchall() == [(len(own),)]
