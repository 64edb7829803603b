"""One statement on one blocking connection of psycopg: prepared, with a generic plan, vectors in binary."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager

from benchmarks import raw
from benchmarks.side_by_side.variant import CLIENTS, Question, Variant
from ragcorp.domain.principal import Principal
from ragcorp.interface.request_values import parse_filters

Call = Callable[[Question], list[int]]


@asynccontextmanager
async def opened(dsn: str, _: list[Question], *, statement: str) -> AsyncIterator[Variant]:
    def one() -> Call:
        connection = stack.enter_context(raw.connect(dsn, plan_cache_mode="force_generic_plan"))
        prepared: dict[str, Call] = {}

        def call(question: Question) -> list[int]:
            key = repr(question.filters)
            if key not in prepared:
                search = raw.RawSearch(connection, principal=Principal(), filters=parse_filters(question.filters))
                prepared[key] = search.fused_with_every_word if statement == "every_word" else search.fused
            return prepared[key](question)

        return call

    with ExitStack() as stack:
        alone = one()

        async def search(question: Question) -> list[int]:
            return alone(question)

        yield Variant(search=search, concurrent=in_threads(stack, [one() for _ in range(CLIENTS)]))


def in_threads(stack: ExitStack, calls: list[Call]) -> Callable[[Question], asyncio.Future[list[int]]]:
    """Return a search by whichever of the calls is free, each in a thread."""
    pool = stack.enter_context(ThreadPoolExecutor(len(calls)))

    def by_one(question: Question) -> list[int]:
        call = calls.pop()
        try:
            return call(question)
        finally:
            calls.append(call)

    def search(question: Question) -> asyncio.Future[list[int]]:
        return asyncio.get_running_loop().run_in_executor(pool, by_one, question)

    return search
