"""LlamaIndex: PGVectorStore with hybrid search; QueryFusionRetriever fuses by RRF, as its documentation recommends.

Its full text joins the words of a query by OR and ranks them with ts_rank; there is no option for AND.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from llama_index.vector_stores.postgres import PGVectorStore

from benchmarks.side_by_side import rows
from benchmarks.side_by_side.variant import EF_SEARCH, LIMIT, WINDOW, Question, Variant

SCHEMA, TABLE = "side_by_side", "data_llamaindex"
FILL = f"""
    INSERT INTO {SCHEMA}.{TABLE} (text, metadata_, node_id, embedding)
    SELECT content, replace(replace(%(node)s, '@id@', id::text), '@source@', source)::json, id::text, embedding
    FROM side_by_side.rows
"""


def _store(dsn: str, *, indexed: bool) -> Any:
    return PGVectorStore.from_params(
        connection_string=rows.url(dsn, driver="psycopg2"),
        async_connection_string=rows.url(dsn, driver="asyncpg"),
        table_name=TABLE.removeprefix("data_"),
        schema_name=SCHEMA,
        hybrid_search=True,
        text_search_config="spanish",
        embed_dim=rows.DIMENSIONS,
        cache_ok=True,
        hnsw_kwargs={"hnsw_m": 16, "hnsw_ef_construction": 64, "hnsw_ef_search": EF_SEARCH} if indexed else None,
        create_engine_kwargs={"pool_size": 10},
    )


async def prepare(dsn: str) -> None:
    with rows.filling(dsn, TABLE) as connection:
        if connection is None:
            return
        _store(dsn, indexed=False).get_nodes(node_ids=["0"])  # makes the table
        node = TextNode(id_="@id@", text="", metadata={"source": "@source@"})
        connection.execute(FILL, {"node": json.dumps(node_to_metadata_dict(node, remove_text=True))})
        _store(dsn, indexed=True).get_nodes(node_ids=["0"])  # makes the HNSW index


@asynccontextmanager
async def opened(dsn: str, _: list[Question]) -> AsyncIterator[Variant]:
    store = _store(dsn, indexed=True)
    index = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(embed_dim=rows.DIMENSIONS))
    retriever = QueryFusionRetriever(
        [
            index.as_retriever(similarity_top_k=WINDOW),
            index.as_retriever(vector_store_query_mode="sparse", similarity_top_k=WINDOW, sparse_top_k=WINDOW),
        ],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        similarity_top_k=LIMIT,
        num_queries=1,
    )

    async def search(question: Question) -> list[int]:
        found = await retriever.aretrieve(QueryBundle(question.text, embedding=question.vector))
        return [int(node.node_id) for node in found]

    yield Variant(search=search, concurrent=search)
    await store.close()
