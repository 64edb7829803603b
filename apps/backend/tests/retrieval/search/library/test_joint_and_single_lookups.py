"""A joint lookup of the chunk sources gives what single lookups give, over the questions of the evaluation sets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragcorp.application.retrieval.search.fan_out import SourceFanOut
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.library.rag import Rag
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

OPTIONS: tuple[dict[str, Any], ...] = (
    {"mode": "hybrid"},
    {"mode": "hybrid", "method": "linear"},
    {"mode": "hybrid", "filters": {"language": "es"}},
    {"mode": "hybrid", "syntax": "websearch"},
    {"profile": "everything", "include_memory": True},
)


def lines(file: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def comparable(response: SearchResponse) -> dict[str, Any]:
    """Return all of a response but its times."""
    reports = tuple(replace(report, elapsed_ms=0.0) for report in response.reports)
    seen = asdict(replace(response, reports=reports))
    for source in (seen["explanation"] or {}).get("sources", ()):
        source["elapsed_ms"] = 0.0
    return seen


async def settled(dsn: str) -> None:
    """Wait until the statistics of ranking are those of all chunks: their refresh would come between two searches."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection, asyncio.timeout(60):
        while True:
            cursor = await connection.execute(
                "SELECT NOT bm25_needs_refresh('default') AND EXISTS (SELECT FROM workspace_means)"
            )
            if await cursor.fetchone() == (True,):
                return
            await asyncio.sleep(0.1)


async def compare(rag: Rag, folder: Path, dsn: str, monkeypatch: pytest.MonkeyPatch, *, every: int) -> None:
    for document in lines(folder / "corpus.jsonl"):
        await rag.ingest_text(document["_id"], f"# {document.get('title', '')}\n\n{document['text']}")
    await rag.embed_pending()
    await settled(dsn)
    queries = [query["text"] for query in lines(folder / "queries.jsonl")][::every]
    jointly = SourceFanOut._jointly
    for number, query in enumerate(queries):
        options = OPTIONS[number % len(OPTIONS)] | {"explain": number % 3 == 0}
        joint = await rag.search(query, **options)
        with monkeypatch.context() as patched:
            patched.setattr(SourceFanOut, "_jointly", lambda _self, _calls: {})
            single = await rag.search(query, **options)
        assert SourceFanOut._jointly is jointly
        assert comparable(joint) == comparable(single), query


@pytest.mark.parametrize("settings", [{}, {"sparse_ranking": "ts_rank_cd"}])
async def test_over_a_sample(
    open_rag: OpenRag, dsn: str, eval_dir: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    rag: Rag = await open_rag(enable_hybrid_search=True, **settings)
    await compare(rag, eval_dir / "corp-es", dsn, monkeypatch, every=6)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["corp-es", "faq-es", "xquad-es"])
async def test_over_whole_sets(
    open_rag: OpenRag, dsn: str, eval_dir: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rag: Rag = await open_rag(enable_hybrid_search=True)
    await compare(rag, eval_dir / name, dsn, monkeypatch, every=1)
