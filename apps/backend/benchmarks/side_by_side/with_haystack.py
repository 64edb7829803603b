"""Haystack: a pipeline of PgvectorDocumentStore's two retrievers and DocumentJoiner by RRF."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from haystack import Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.utils import Secret
from haystack_integrations.components.retrievers.pgvector import PgvectorEmbeddingRetriever, PgvectorKeywordRetriever
from haystack_integrations.document_stores.pgvector import PgvectorDocumentStore

from benchmarks.side_by_side import rows
from benchmarks.side_by_side.variant import CLIENTS, EF_SEARCH, LIMIT, WINDOW, Question, Variant

SCHEMA, TABLE = "side_by_side", "haystack"
FILL = f"""
    INSERT INTO {SCHEMA}.{TABLE} (id, embedding, content, meta)
    SELECT id::text, embedding, content, jsonb_build_object('source', source, 'chunk', chunk_index)
    FROM side_by_side.rows
"""


def _store(dsn: str, *, indexed: bool) -> Any:
    return PgvectorDocumentStore(
        connection_string=Secret.from_token(dsn),
        schema_name=SCHEMA,
        table_name=TABLE,
        language="spanish",
        embedding_dimension=rows.DIMENSIONS,
        search_strategy="hnsw" if indexed else "exact_nearest_neighbor",
        hnsw_ef_search=EF_SEARCH,
    )


def _pipeline(dsn: str) -> Any:
    """Both retrievers run at once, each with a store of its own: a store has one cursor."""
    pipeline = Pipeline()
    dense = PgvectorEmbeddingRetriever(document_store=_store(dsn, indexed=True), top_k=WINDOW)
    sparse = PgvectorKeywordRetriever(document_store=_store(dsn, indexed=True), top_k=WINDOW)
    pipeline.add_component("dense", dense)
    pipeline.add_component("sparse", sparse)
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=LIMIT))
    pipeline.connect("dense", "joiner")
    pipeline.connect("sparse", "joiner")
    return pipeline


async def prepare(dsn: str) -> None:
    with rows.filling(dsn, TABLE) as connection:
        if connection is None:
            return
        _store(dsn, indexed=False).count_documents()  # makes the table
        connection.execute(FILL)
        _store(dsn, indexed=True).count_documents()  # makes the HNSW index


@asynccontextmanager
async def opened(dsn: str, _: list[Question]) -> AsyncIterator[Variant]:
    logging.getLogger("haystack_integrations").setLevel(logging.ERROR)  # that the index exists already
    free = [_pipeline(dsn) for _ in range(CLIENTS)]

    async def search(question: Question) -> list[int]:
        pipeline = free.pop()
        try:
            found = await pipeline.run_async(
                {"dense": {"query_embedding": question.vector}, "sparse": {"query": question.text}}
            )
        finally:
            free.append(pipeline)
        return [int(document.id) for document in found["joiner"]["documents"]]

    yield Variant(search=search, concurrent=search)
