"""Retrieval sources for tests: they implement the port, as a user's own would."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.retrieval import Hit, RankedList


class WordCountSource:
    """Counts how often the words of the query stand in texts that it holds in memory, by workspace."""

    def __init__(self, texts: Mapping[str, Sequence[str]], *, name: str = "word_count") -> None:
        self.name = name
        self._texts = texts
        self.is_out = False

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        if self.is_out:
            raise SourceUnavailableError("out", reason="unreachable")
        workspace = query.principal.workspace
        words = set(query.text.lower().split())
        counted = [
            (sum(word in words for word in text.lower().split()), f"{workspace}:{number}")
            for number, text in enumerate(self._texts.get(workspace, ()))
        ]
        results = sorted(((-count, chunk_id) for count, chunk_id in counted if count))[: query.limit]
        hits = tuple(Hit(chunk_id=chunk_id, score=float(-count)) for count, chunk_id in results)
        return SourceAnswer(ranked_list=RankedList(source=self.name, score_type="word_count", hits=hits))


class ScriptedSource:
    """Answers as it is told: hits, an error to raise, a delay, or anything else that ``answer`` makes."""

    def __init__(
        self,
        *hits: Hit,
        name: str = "scripted",
        error: BaseException | None = None,
        delay: float = 0.0,
        answer: Callable[[SourceQuery], Awaitable[SourceAnswer]] | None = None,
    ) -> None:
        self.name = name
        self.hits, self.error, self.delay, self.answer = hits, error, delay, answer
        self.queries: list[SourceQuery] = []

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        self.queries.append(query)
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        if self.answer is not None:
            return await self.answer(query)
        return SourceAnswer(ranked_list=RankedList(source=self.name, score_type="scripted", hits=self.hits))
