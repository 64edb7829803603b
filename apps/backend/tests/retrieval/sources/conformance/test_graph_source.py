"""The graph as a RetrievalSource."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from ragcorp.application.retrieval.sources.graph import EMBEDDER_OUT, GraphSource
from ragcorp.domain.filters import FACT_FIELDS
from ragcorp.domain.ports.sources import RetrievalSource
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.null_models.embedder import NullEmbedder
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from ragcorp.testing.sources import TEXTS, RetrievalSourceConformance, SourceLoader, needle_query
from support.graph.facts import graph_search, said
from support.models.embedders import BrokenEmbedder, HashingEmbedder
from support.storage.postgres import open_database
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio


class GraphLoader(SourceLoader):
    """Makes each text the predicate of a fact on the entity Aguja."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, texts: Mapping[str, Sequence[str]]) -> RetrievalSource:
        graph = PostgresGraphRepository(database=self._database)
        for workspace, contents in texts.items():
            facts = [said("Aguja", content, f"Costurero {n}") for n, content in enumerate(contents)]
            await graph.save_facts(facts, principal=Principal(workspace=workspace))
        return GraphSource(embedder=HashingEmbedder(), search=await graph_search(self._database))

    async def break_down(self) -> None:
        await self._database.close()


class TestGraph(RetrievalSourceConformance):
    @pytest.fixture
    async def loader(self, dsn: str) -> AsyncIterator[SourceLoader]:
        async with open_database(dsn) as database:
            yield GraphLoader(database)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


async def test_names_are_looked_up_when_the_embedder_is_out_and_that_is_said(database: Database) -> None:
    await GraphLoader(database).load({"default": TEXTS["default"]})
    search = await graph_search(database)
    out = await GraphSource(embedder=BrokenEmbedder(), search=search).retrieve(needle_query())
    assert (len(out.ranked_list), out.incomplete) == (6, EMBEDDER_OUT)
    # where none is configured nothing is missing
    none = await GraphSource(embedder=NullEmbedder(), search=search).retrieve(needle_query())
    assert (len(none.ranked_list), none.incomplete) == (6, None)


async def test_it_says_what_it_is(database: Database) -> None:
    source = await GraphLoader(database).load({"default": TEXTS["default"]})
    assert isinstance(source, GraphSource)
    assert (source.name, source.collection, source.filter_fields) == ("graph", "graph", FACT_FIELDS)
    results = (await source.retrieve(needle_query())).ranked_list
    assert results.score_type == "graph"
    assert all(hit.collection == "graph" and 0 <= hit.score <= 1 and math.isfinite(hit.score) for hit in results)
    facts = PostgresGraphRepository(database=database)
    assert (await facts.get_fact(await _name_of(database, results.hits[0].item_id), principal=ANYONE)).id


async def _name_of(database: Database, fact_id: str | None) -> str:
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        row = await (
            await connection.execute("SELECT external_id FROM facts WHERE id = %s", (int(fact_id or 0),))
        ).fetchone()
    assert row
    return str(row[0])
