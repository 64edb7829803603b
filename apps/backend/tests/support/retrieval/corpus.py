"""What tests of a search through the library share: a small corpus, and how they look at a response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.library.rag import Rag
from support.models.embedders import HashingEmbedder
from support.storage.stored import EAST

OpenRag = Callable[..., Any]


class GivenVectors(HashingEmbedder):
    """Gives the vectors that it is told for texts that hold a word; EAST for all others, queries among them."""

    def __init__(self, by_word: Mapping[str, Vector]) -> None:
        super().__init__()
        self._by_word = by_word

    def vector(self, text: str) -> Vector:
        return next((vector for word, vector in self._by_word.items() if word in text), EAST)

    async def embed_query(self, text: str) -> Vector:
        return EAST


CONTRACTS = {
    "acme.md": "Contrato con Acme Corporation, expediente REQ-2024-001.",
    "otra.md": "Contrato con Beta Limitada, expediente REQ-2024-002.",
    "menu.md": "El menú del comedor cambia los lunes.",
}


def shown(response: SearchResponse) -> list[str]:
    return [hit.chunk.external_id for hit in response.hits]


def asked(response: SearchResponse) -> list[str]:
    return [report.source for report in response.reports]


def degraded(response: SearchResponse) -> dict[str, str | None]:
    return {report.source: report.reason for report in response.degraded}


async def fill(rag: Rag, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        await rag.ingest_text(name, text)


async def break_full_text(owner_dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(owner_dsn, autocommit=True) as connection:
        await connection.execute("ALTER TABLE chunks DROP COLUMN tsv")


def count(dsn: str, table: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # type: ignore[arg-type]
    assert row is not None
    return int(row[0])


async def found(rag: Rag, query: str, **options: Any) -> list[str]:
    return [hit.chunk.external_id for hit in (await rag.search(query, mode="sparse", **options)).hits]
