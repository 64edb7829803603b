"""The HTTP reranker against a server on a socket."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ragcorp.domain.exceptions import ConfigurationError, SourceUnavailableError
from ragcorp.infrastructure.reranking.http_reranker import HttpReranker
from support.models.rerank_server import FakeReranker, rerank_server

pytestmark = pytest.mark.anyio

DEADLINE = 0.3
PATIENCE = 60.0
"""The deadline, in seconds, of calls that must end by something else."""
KEY = "sk-key-of-mine"
PASSAGES = ["uno", "tercero", "dos y"]
SECRETS = (KEY, "SECRET-IN-BODY", "127.0.0.1", "plazo", "tercero")


@pytest.fixture
async def server() -> AsyncIterator[FakeReranker]:
    async with rerank_server() as fake:
        yield fake


@pytest.fixture
async def reranker(server: FakeReranker) -> AsyncIterator[HttpReranker]:
    reranker = HttpReranker(url=server.url, model="reranker-test", api_key=KEY, timeout_seconds=PATIENCE)
    yield reranker
    await reranker.aclose()


@pytest.fixture
async def impatient(server: FakeReranker) -> AsyncIterator[HttpReranker]:
    reranker = HttpReranker(url=server.url, model="reranker-test", api_key=KEY, timeout_seconds=DEADLINE)
    yield reranker
    await reranker.aclose()


async def reason(reranker: HttpReranker) -> str:
    with pytest.raises(SourceUnavailableError) as failed:
        await reranker.scores("el plazo", PASSAGES)
    assert not [secret for secret in SECRETS if secret in f"{failed.value} {failed.value!r} {failed.value.__cause__}"]
    return failed.value.reason


async def test_scores_come_in_the_order_of_the_passages(server: FakeReranker, reranker: HttpReranker) -> None:
    assert await reranker.scores("el plazo", PASSAGES) == [3.0, 7.0, 5.0]
    assert server.bodies == [
        {"model": "reranker-test", "query": "el plazo", "documents": PASSAGES, "top_n": 3, "return_documents": False}
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert reranker.name == "http"


async def test_a_server_may_need_neither_key_nor_model(server: FakeReranker) -> None:
    plain = HttpReranker(url=server.url, model="", api_key="", timeout_seconds=PATIENCE)
    assert await plain.scores("ñandú", ["ä", "bb"]) == [1.0, 2.0]
    assert "model" not in server.bodies[0]
    assert "authorization" not in server.headers[0]
    await plain.aclose()


async def test_no_passages_are_no_call(server: FakeReranker, reranker: HttpReranker) -> None:
    assert await reranker.scores("el plazo", []) == []
    assert server.bodies == []


@pytest.mark.parametrize(
    "answer",
    [
        {"data": [{"index": 1, "relevance_score": 0.5}, {"index": 0, "relevance_score": -2}, {"index": 2, "score": 1}]},
        [{"index": 0, "score": -2.0}, {"index": 1, "score": 0.5}, {"index": 2, "score": 1.0, "text": "dos"}],
    ],
    ids=["data", "bare list"],
)
async def test_other_shapes_are_understood(server: FakeReranker, reranker: HttpReranker, answer: Any) -> None:
    server.answer = lambda _: answer
    assert await reranker.scores("el plazo", PASSAGES) == [-2.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (500, "server_error"),
        (503, "server_error"),
        (429, "rate_limited"),
        (401, "unauthorized"),
        (403, "unauthorized"),
        (404, "not_found"),
        (400, "rejected"),
        (413, "rejected"),
        (422, "rejected"),
        (418, "bad_response"),
        (204, "bad_response"),
    ],
)
async def test_a_status_is_told_and_nothing_is_tried_twice(
    server: FakeReranker, reranker: HttpReranker, status: int, expected: str
) -> None:
    server.fault = status
    assert await reason(reranker) == expected
    assert len(server.bodies) == 1


@pytest.mark.parametrize("fault", ["hang", "drip"])
async def test_the_deadline_holds_and_the_call_is_given_up(
    server: FakeReranker, impatient: HttpReranker, fault: str
) -> None:
    server.fault = fault
    started = time.perf_counter()
    assert await reason(impatient) == "timeout"
    assert time.perf_counter() - started < DEADLINE + 1.5
    await asyncio.wait_for(server.closed.wait(), 2.0)


@pytest.mark.parametrize("fault", ["cut", "huge", "redirect"])
async def test_what_is_no_whole_answer(server: FakeReranker, reranker: HttpReranker, fault: str) -> None:
    server.fault = fault
    assert await reason(reranker) == "bad_response"
    assert len(server.bodies) == 1


async def test_nobody_listens(reranker: HttpReranker) -> None:
    gone = HttpReranker(url="http://127.0.0.1:1/rerank", model="", api_key=KEY, timeout_seconds=PATIENCE)
    assert await reason(gone) == "unreachable"
    await gone.aclose()


def results(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"results": [{"index": index, "relevance_score": score} for index, score in pairs]}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"<html>SECRET-IN-BODY</html>", "bad_response"),
        (b"", "bad_response"),
        (b"\xff\xfe", "bad_response"),
        (b"[" * 100_000, "bad_response"),
        (None, "bad_response"),
        ({}, "bad_response"),
        ({"results": None}, "bad_response"),
        ({"results": {"0": 1.0}}, "bad_response"),
        ({"results": [0.1, 0.2, 0.3]}, "bad_response"),
        (results((0, 1.0), (1, 1.0)), "wrong_count"),
        (results((0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)), "wrong_count"),
        (results((0, 1.0), (1, 1.0), (1, 1.0)), "wrong_index"),
        (results((0, 1.0), (1, 1.0), (3, 1.0)), "wrong_index"),
        (results((0, 1.0), (1, 1.0), (-1, 1.0)), "wrong_index"),
        (results((0, 1.0), (1, 1.0), ("2", 1.0)), "wrong_index"),
        (results((0, 1.0), (True, 1.0), (2, 1.0)), "wrong_index"),
        (results((0, 1.0), (1, 1.0), (None, 1.0)), "wrong_index"),
        (results((0, 1.0), (1, float("nan")), (2, 1.0)), "invalid_score"),
        (results((0, 1.0), (1, float("-inf")), (2, 1.0)), "invalid_score"),
        (results((0, 1.0), (1, 10**400), (2, 1.0)), "invalid_score"),
        (results((0, 1.0), (1, "0.5"), (2, 1.0)), "invalid_score"),
        (results((0, 1.0), (1, None), (2, 1.0)), "invalid_score"),
        (results((0, 1.0), (1, True), (2, 1.0)), "invalid_score"),
    ],
)
async def test_what_are_no_scores(server: FakeReranker, reranker: HttpReranker, answer: Any, expected: str) -> None:
    server.answer = lambda _: answer
    assert await reason(reranker) == expected


async def test_it_answers_again_after_a_failure(server: FakeReranker, reranker: HttpReranker) -> None:
    server.fault = 500
    assert await reason(reranker) == "server_error"
    server.fault = None
    assert await reranker.scores("el plazo", PASSAGES) == [3.0, 7.0, 5.0]


async def test_neither_key_nor_texts_are_logged(
    server: FakeReranker, reranker: HttpReranker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await reranker.scores("el plazo", PASSAGES)
        server.fault = 500
        await reason(reranker)
    assert not [secret for secret in (KEY, "SECRET-IN-BODY", "plazo", "tercero") if secret in caplog.text]


@pytest.mark.parametrize("key", ["sk-with\nline", "sk with space", "sk-\u201cquoted\u201d", "sk-\x00"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        HttpReranker(url="http://127.0.0.1:1/rerank", model="", api_key=key, timeout_seconds=1.0)
    assert refused.value.field == "RERANK_API_KEY"
    assert "sk" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["", "rerank", "/v1/rerank", "ftp://host/rerank", "http://", "http://[::1", "http://a:b/"]
)
def test_an_address_that_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        HttpReranker(url=url, model="", api_key="", timeout_seconds=1.0)
    assert refused.value.field == "RERANK_URL"
