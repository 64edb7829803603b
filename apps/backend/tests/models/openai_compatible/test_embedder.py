"""The OpenAI-compatible embedder against a server on a socket."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator

import pytest

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import ConfigurationError, EmbedderUnavailableError
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.embedder import OpenAIEmbedder
from support.models.openai_server import FakeOpenAI, openai_server

pytestmark = pytest.mark.anyio

MODEL = EmbeddingModel(name="text-embedding-test", dimensions=4)
DEADLINE = 1.0
SECRETS = ("SECRET-IN-BODY", "sk-", "key-of-mine", "127.0.0.1")


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with openai_server() as fake:
        yield fake


@pytest.fixture
async def embedder(server: FakeOpenAI) -> AsyncIterator[OpenAIEmbedder]:
    endpoint = Endpoint(base_url=server.base_url, api_key="key-of-mine", timeout_seconds=20.0)
    embedder = OpenAIEmbedder(endpoint=endpoint, model=MODEL, batch_size=3)
    yield embedder
    await embedder.aclose()


async def test_vectors_come_in_order_normalised_and_in_batches(server: FakeOpenAI, embedder: OpenAIEmbedder) -> None:
    server.vector = lambda text: [3.0, 4.0 * len(text)]
    vectors = await embedder.embed_passages(["a", "bb", "ccc", "dddd"])
    assert [len(request.body["input"]) for request in server.seen] == [3, 1]
    assert vectors[0] == pytest.approx((0.6, 0.8, 0.0, 0.0))
    assert vectors[3] == pytest.approx((3 / math.hypot(3, 16), 16 / math.hypot(3, 16), 0.0, 0.0))
    body = server.seen[0].body
    assert (body["model"], body["dimensions"], body["encoding_format"]) == (MODEL.name, 4, "float")
    assert server.seen[0].headers["authorization"] == "Bearer key-of-mine"
    assert await embedder.embed_query("a") == vectors[0]
    assert await embedder.embed_passages([]) == []


async def test_a_shuffled_response_is_put_right(server: FakeOpenAI, embedder: OpenAIEmbedder) -> None:
    right = await embedder.embed_passages(["a", "bb", "ccc"])
    server.always = "shuffled"
    assert await embedder.embed_passages(["a", "bb", "ccc"]) == right
    assert len(set(right)) == 3


@pytest.mark.parametrize("fault", ["ignores_dimensions", "wrong_width_wider"])
async def test_a_wider_vector_is_cut_and_normalised_again(
    server: FakeOpenAI, embedder: OpenAIEmbedder, fault: str
) -> None:
    server.always = fault
    server.vector = lambda text: [3.0, 0.0, 0.0, 4.0, 12.0]
    assert await embedder.embed_query("a") == pytest.approx((0.6, 0.0, 0.0, 0.8))


async def test_dimensions_are_left_out_where_the_provider_knows_none(server: FakeOpenAI) -> None:
    endpoint = Endpoint(base_url=server.base_url, api_key="", timeout_seconds=DEADLINE)
    embedder = OpenAIEmbedder(endpoint=endpoint, model=MODEL, send_dimensions=False)
    assert len(await embedder.embed_query("a")) == 4
    assert "dimensions" not in server.seen[0].body
    await embedder.aclose()


async def test_it_tries_again_after_429_and_500(server: FakeOpenAI, embedder: OpenAIEmbedder) -> None:
    server.faults = ["429:0", "500"]
    assert len(await embedder.embed_query("a")) == 4
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("fault", "reason", "requests"),
    [
        ("429:0.01", "rate_limited", 3),
        ("500", "server_error", 3),
        ("400", "rejected", 1),
        ("422", "rejected", 1),
        ("413", "rejected", 1),
        ("401", "unauthorized", 1),
        ("404", "model_not_found", 1),
        ("redirect", "bad_response", 1),
        ("wrong_width", "wrong_width", 1),
        ("wrong_count", "wrong_count", 1),
        ("twice_the_same_index", "wrong_order", 1),
        ("nan", "invalid_vector", 1),
        ("zero", "invalid_vector", 1),
        ("null", "invalid_vector", 1),
        ("no_data", None, 1),
        ("strings", None, 1),
        ("html", None, 1),
        ("huge", None, None),
        ("cut", None, None),
    ],
)
async def test_a_bad_response_is_an_unavailable_embedder(
    server: FakeOpenAI, embedder: OpenAIEmbedder, fault: str, reason: str | None, requests: int | None
) -> None:
    server.always = fault
    with pytest.raises(EmbedderUnavailableError) as caught:
        await embedder.embed_passages(["a", "bb"])
    assert caught.value.reason == (reason or caught.value.reason)
    assert caught.value.reason
    assert requests in (None, len(server.seen))
    assert not any(request.path.endswith("/elsewhere") for request in server.seen)
    assert not any(secret in str(caught.value) for secret in SECRETS)
    server.always = "ok"
    assert len(await embedder.embed_query("a")) == 4


@pytest.mark.parametrize("fault", ["hang", "drip", "429:60"])
async def test_nothing_outlasts_the_deadline(server: FakeOpenAI, fault: str) -> None:
    endpoint = Endpoint(base_url=server.base_url, api_key="key-of-mine", timeout_seconds=DEADLINE)
    embedder = OpenAIEmbedder(endpoint=endpoint, model=MODEL)
    server.always = fault
    started = time.monotonic()
    with pytest.raises(EmbedderUnavailableError) as caught:
        await embedder.embed_query("a")
    assert caught.value.reason == "timeout"
    assert time.monotonic() - started < DEADLINE + 2
    if fault != "429:60":
        async with asyncio.timeout(5):
            await server.closed.wait()
    await embedder.aclose()


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    endpoint = Endpoint(base_url="http://127.0.0.1:9/v1", api_key="k", timeout_seconds=5.0, max_retries=0)
    embedder = OpenAIEmbedder(endpoint=endpoint, model=MODEL)
    with pytest.raises(EmbedderUnavailableError) as caught:
        await embedder.embed_query("a")
    assert caught.value.reason == "unreachable"
    await embedder.aclose()


async def test_text_that_json_cannot_carry_is_an_unavailable_embedder(embedder: OpenAIEmbedder) -> None:
    with pytest.raises(EmbedderUnavailableError):
        await embedder.embed_query("\ud800")


def test_no_key_and_no_address_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        OpenAIEmbedder(endpoint=Endpoint(base_url=None, api_key="", timeout_seconds=1.0), model=MODEL)
