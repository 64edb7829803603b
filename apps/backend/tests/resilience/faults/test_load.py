"""Searches and streams at once for a while, from another process: no error, nothing that grows."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.corpus import Corpus
from benchmarks.load import QUERIES, SETTINGS, bounded_load
from benchmarks.loading import load
from benchmarks.server import open_server
from benchmarks.service import open_service


@pytest.mark.timeout(300)
def test_searches_and_streams_at_once_leave_nothing_behind() -> None:
    corpus = Corpus(chunks=2000)
    with open_server() as server:
        owner, application = server.database("load")
        load(owner, corpus, application_dsn=application)
        with open_service(application, corpus, queries=QUERIES, settings=SETTINGS) as service:
            outcome = asyncio.run(
                bounded_load(
                    service.url,
                    service.pid,
                    owner,
                    corpus.queries(QUERIES),
                    seconds=6,
                    searches=4,
                    streams=2,
                    pool_size=SETTINGS["database_pool_size"],
                )
            )
    assert outcome.complaints() == []
    assert len(outcome.search_seconds) > 10
    assert len(outcome.stream_seconds) > 0
