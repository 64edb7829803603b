"""ragcorp as a library."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.library import open_container_over
from benchmarks.side_by_side.variant import LIMIT, PATIENT, Question, Variant
from ragcorp.main.opening.library import make_rag


@asynccontextmanager
async def opened(
    dsn: str, questions: list[Question], *, mode: str = "hybrid", settings: Mapping[str, Any] | None = None
) -> AsyncIterator[Variant]:
    async with open_container_over(dsn, questions, **PATIENT, **(settings or {})) as container:
        rag = make_rag(container)

        async def search(question: Question) -> list[int]:
            response = await rag.search(question.text, limit=LIMIT, mode=mode, filters=question.filters)
            assert not response.degraded, response.degraded
            return [int(hit.chunk.id) for hit in response.hits]

        yield Variant(search=search, concurrent=search)
