"""ragcorp as a service; the CPU is the service's, not its client's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from http.client import HTTPConnection

from benchmarks.corpus import Corpus
from benchmarks.service import open_service, search_ids
from benchmarks.side_by_side.bare import Call, in_threads
from benchmarks.side_by_side.variant import CLIENTS, PATIENT, Question, Variant


@asynccontextmanager
async def opened(dsn: str, questions: list[Question], *, chunks: int, seed: int) -> AsyncIterator[Variant]:
    with ExitStack() as stack:
        corpus = Corpus(chunks=chunks, seed=seed)
        service = stack.enter_context(open_service(dsn, corpus, queries=len(questions), settings=PATIENT))

        def by(connection: HTTPConnection) -> Call:
            def call(question: Question) -> list[int]:
                try:
                    return search_ids(connection, question, mode="hybrid", filters=question.filters)
                except ConnectionError:  # the service has closed an idle connection
                    connection.close()
                    return search_ids(connection, question, mode="hybrid", filters=question.filters)

            return call

        alone = by(service.client())

        async def search(question: Question) -> list[int]:
            return alone(question)

        concurrent = in_threads(stack, [by(service.client()) for _ in range(CLIENTS)])
        yield Variant(search=search, concurrent=concurrent, cpu=service.cpu_seconds)
