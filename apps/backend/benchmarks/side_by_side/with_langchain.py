"""LangChain: PGVectorStore with hybrid search over asyncpg, RRF, HNSW and GIN, as its documentation recommends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_postgres.v2.engine import PGEngine
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion
from langchain_postgres.v2.indexes import HNSWIndex, HNSWQueryOptions
from langchain_postgres.v2.vectorstores import PGVectorStore
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.side_by_side import rows
from benchmarks.side_by_side.variant import EF_SEARCH, LIMIT, RANK_CONSTANT, WINDOW, Question, Variant

SCHEMA, TABLE = "side_by_side", "langchain"
HYBRID = HybridSearchConfig(
    tsv_column="content_tsv",
    tsv_lang="pg_catalog.spanish",
    fusion_function=reciprocal_rank_fusion,
    fusion_function_parameters={"rrf_k": RANK_CONSTANT},
    primary_top_k=WINDOW,
    secondary_top_k=WINDOW,
    index_name="langchain_content_tsv",
)
FILL = f"""
    INSERT INTO {SCHEMA}.{TABLE} (langchain_id, content, embedding, content_tsv, langchain_metadata)
    SELECT ('00000000-0000-0000-0000-' || lpad(id::text, 12, '0'))::uuid, content, embedding,
           to_tsvector('spanish', content), json_build_object('source', source, 'chunk', chunk_index)
    FROM side_by_side.rows
"""


class _Vectors(Embeddings):
    def __init__(self, questions: list[Question]) -> None:
        self._vectors = {question.text: question.vector for question in questions}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError

    def embed_query(self, text: str) -> list[float]:
        return self._vectors[text]

    async def aembed_query(self, text: str) -> list[float]:
        return self._vectors[text]


def _engine(dsn: str) -> Any:
    return PGEngine.from_engine(create_async_engine(rows.url(dsn, driver="asyncpg"), pool_size=10))


async def _store(engine: Any, questions: list[Question]) -> Any:
    return await PGVectorStore.create(
        engine,
        _Vectors(questions),
        TABLE,
        schema_name=SCHEMA,
        k=LIMIT,
        index_query_options=HNSWQueryOptions(ef_search=EF_SEARCH),
        hybrid_search_config=HYBRID,
    )


async def prepare(dsn: str) -> None:
    with rows.filling(dsn, TABLE) as connection:
        if connection is None:
            return
        engine = _engine(dsn)
        await engine.ainit_vectorstore_table(
            TABLE, rows.DIMENSIONS, schema_name=SCHEMA, hybrid_search_config=replace(HYBRID)
        )
        connection.execute(FILL)
        store = await _store(engine, [])
        await store.aapply_vector_index(HNSWIndex(name="langchain_hnsw"))
        await store.aapply_hybrid_search_index()
        await engine.close()


@asynccontextmanager
async def opened(dsn: str, questions: list[Question]) -> AsyncIterator[Variant]:
    engine = _engine(dsn)
    store = await _store(engine, questions)

    async def search(question: Question) -> list[int]:
        # a configuration of its own: the store keeps the words of the first query in the one that it has
        hybrid = replace(HYBRID, fts_query=question.text, fusion_function_parameters={"rrf_k": RANK_CONSTANT})
        found = await store.asimilarity_search(question.text, k=LIMIT, hybrid_search_config=hybrid)
        return [int(document.id[-12:]) for document in found]

    yield Variant(search=search, concurrent=search)
    await engine.close()
