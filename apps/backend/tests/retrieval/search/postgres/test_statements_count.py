"""What one search costs the database: statements, round trips and connections, seen on the wire to a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest

from benchmarks.wire import Trace, traced
from ragcorp.domain.embeddings import Vector
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio

TEXTS = {f"doc-{number}": f"El contrato número {number} vence en marzo: REQ-2024-{number:03}." for number in range(12)}


@pytest.fixture
async def trace() -> AsyncIterator[Trace]:
    with traced() as trace:
        yield trace


async def filled(container: Container, dsn: str = "") -> Rag:
    """Ingest the texts. With a ``dsn``, also wait for the end of the statistics' keeper, whose statements count too."""
    rag = make_rag(container)
    for external_id, text in TEXTS.items():
        await rag.ingest_text(external_id, text)
    if dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            async with asyncio.timeout(60):
                while connection.execute("SELECT chunks FROM workspace_means").fetchone() != (len(TEXTS),):  # noqa: ASYNC110 - no event tells of a row
                    await asyncio.sleep(0.1)
    return rag


def kind(statement: str) -> str:
    """Name a statement by the table or function that only it reads."""
    for mark, name in (
        ("ragcorp.workspace", "workspace"),
        ("set_config(", "settings"),
        ("AS half", "half-centred"),
        ("<=>", "dense"),
        ("bm25_plan(", "bm25"),
        ("bm25_common(", "lexeme counts"),
        ("bm25_impacts(", "identifiers"),
        ("query_terms(", "terms"),
        ("search_statistics", "totals"),
        ("c.content AS content", "contents"),
    ):
        if mark in statement:
            return name
    return statement


FULL_TEXT = ["bm25"]
"""Terms, totals and ranking in one statement."""

CONTENTS = ["contents", "workspace"]
"""The workspace is named once a round trip, in front of what is asked."""

DENSE = ["dense", "settings", "workspace"]


@pytest.mark.parametrize("filters", [None, {"language": "es"}])
async def test_with_the_flag_off_a_search_is_one_retrieval_statement_and_the_contents(
    trace: Trace, make_container: Callable[..., Any], dsn: str, filters: dict[str, object] | None
) -> None:
    rag = await filled(await make_container(), dsn)
    for _ in range(12):  # after which every connection of the pool has its statements prepared
        trace.take()
        response = await rag.search("contrato de marzo", filters=filters)
        assert len(response.hits) == 10
        assert response.mode_used == "dense"
        seen = trace.take()
        assert sorted(map(kind, seen.statements)) == sorted([*CONTENTS, *DENSE])
    assert seen.round_trips == 2  # the settings travel with the statement


async def counted(rag: Rag, trace: Trace, query: str, **options: Any) -> tuple[list[str], int]:
    """Return the statements and the round trips of a search when every connection has prepared its statements.

    Which connection a source gets is chance, and one that is new to a statement takes a round trip more: so the least
    of several counts.
    """
    for _ in range(12):
        await rag.search(query, **options)
    counts = []
    for _ in range(5):
        trace.take()
        assert (await rag.search(query, **options)).hits
        seen = trace.take()
        counts.append((seen.round_trips, sorted(map(kind, seen.statements))))
    round_trips, statements = min(counts)
    return statements, round_trips


async def test_a_hybrid_search_is_one_round_trip_for_vectors_and_words_and_one_for_the_contents(
    trace: Trace, make_container: Callable[..., Any], dsn: str
) -> None:
    rag = await filled(await make_container(enable_hybrid_search=True), dsn)
    statements, round_trips = await counted(rag, trace, "contrato de marzo")
    assert statements == sorted([*CONTENTS, *DENSE, *FULL_TEXT])
    assert round_trips == 1 + 1
    with_code, round_trips = await counted(rag, trace, "contrato REQ-2024-001")
    assert with_code == sorted([*statements, "identifiers", "settings", "workspace"])
    assert round_trips == 1 + 1 + 1


async def test_linear_fusion_scores_all_candidates_by_two_statements_more(
    trace: Trace, make_container: Callable[..., Any], dsn: str
) -> None:
    rag = await filled(await make_container(enable_hybrid_search=True), dsn)
    statements, round_trips = await counted(rag, trace, "contrato de marzo", method="linear")
    assert statements == sorted(
        [*CONTENTS, *DENSE, *FULL_TEXT, "half-centred", "workspace", "lexeme counts", "workspace"]
    )
    assert round_trips == 1 + 2 + 1


async def test_a_sparse_search_is_one_round_trip_and_the_contents(
    trace: Trace, make_container: Callable[..., Any], dsn: str
) -> None:
    rag = await filled(await make_container(), dsn)
    statements, round_trips = await counted(rag, trace, "contrato", mode="sparse")
    assert statements == sorted([*CONTENTS, *FULL_TEXT, "settings", "workspace"])
    assert round_trips == 1 + 1


async def test_settings_of_a_search_end_with_it(make_container: Callable[..., Any]) -> None:
    container = await make_container(database_pool_size=2)
    rag = await filled(container)
    await rag.search("contrato de marzo")
    async with (
        container.database.autocommit(EVERY_WORKSPACE) as first,
        container.database.autocommit(EVERY_WORKSPACE) as second,
    ):
        for connection in (first, second):
            cursor = await connection.execute(
                "SELECT current_setting('plan_cache_mode'), current_setting('enable_seqscan'),"
                " current_setting('hnsw.iterative_scan', true)"
            )
            row = await cursor.fetchone()
            assert row is not None
            assert row[:2] == ("auto", "on")
            assert row[2] in ("off", "", None)


class WatchingEmbedder(HashingEmbedder):
    """Notes how many connections are checked out while the model runs."""

    def __init__(self) -> None:
        super().__init__()
        self.container: Container | None = None
        self.in_use: list[int] = []

    def _note(self) -> None:
        if self.container is not None:
            counters = self.container.database.statistics()
            self.in_use.append(counters["pool_size"] - counters["pool_available"])

    async def embed_query(self, text: str) -> Vector:
        self._note()
        return await super().embed_query(text)

    async def embed_passages(self, texts: Any) -> list[Vector]:
        self._note()
        return await super().embed_passages(texts)


async def test_no_connection_is_held_while_the_embedder_runs(make_container: Callable[..., Any]) -> None:
    embedder = WatchingEmbedder()
    container = await make_container(parts=Parts(embedder=embedder))
    rag = await filled(container)
    embedder.container = container
    await rag.search("contrato de marzo")
    await rag.search("otra pregunta", mode="dense", filters={"language": "es"})
    await rag.ingest_text("doc-x", "Un texto nuevo que espera su vector.")
    await rag.embed_pending()
    assert len(embedder.in_use) >= 3
    assert set(embedder.in_use) == {0}
