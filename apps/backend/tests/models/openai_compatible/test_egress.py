"""Where clients of models connect, and where never; on real sockets of the loopback."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import ConfigurationError, EmbedderUnavailableError, SourceUnavailableError
from ragcorp.infrastructure.network import transport as guarded_transport
from ragcorp.infrastructure.network.egress import check_base_url, is_refused
from ragcorp.infrastructure.openai_compatible.answerer import OpenAIAnswerer
from ragcorp.infrastructure.openai_compatible.client import Endpoint
from ragcorp.infrastructure.openai_compatible.embedder import OpenAIEmbedder
from ragcorp.infrastructure.openai_compatible.fact_extractor import OpenAIFactExtractor
from ragcorp.infrastructure.openai_compatible.question_rewriter import OpenAIQuestionRewriter
from ragcorp.infrastructure.reranking.http_reranker import HttpReranker
from support.models.openai_server import FakeOpenAI, openai_server

pytestmark = pytest.mark.anyio

REFUSED = (
    "169.254.169.254", "169.254.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "0.0.0.0", "0.1.2.3",
    "224.0.0.1", "255.255.255.255", "240.0.0.1", "::", "fe80::1", "fe80::1%1", "fec0::1", "ff02::1",
    "fd00:ec2::254", "fd20:ce::254", "fd00:42::42", "::ffff:169.254.169.254", "::ffff:0:169.254.169.254",
    "::169.254.169.254", "64:ff9b::169.254.169.254", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "2001:0:a9fe:a9fe::1",
)  # fmt: skip
PERMITTED = (
    "127.0.0.1", "127.8.9.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "100.64.0.1", "8.8.8.8", "::1", "fd12:3456::1",
    "2606:4700::1111", "::ffff:127.0.0.1", "64:ff9b::808:808", "2002:808:808::1", "192.0.0.10",
)  # fmt: skip
REFUSED_HOSTS = (
    *(f"[{each}]" if ":" in each else each for each in REFUSED if "%" not in each),
    "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "0xa9.254.43518", "metadata", "metadata.google.internal",
    "METADATA.google.internal.", "instance-data", "metadata.goog",
)  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_no_model_is_at_such_an_address(address: str) -> None:
    assert is_refused(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", PERMITTED)
def test_a_model_may_be_at_such_an_address(address: str) -> None:
    assert not is_refused(ipaddress.ip_address(address))


def models(url: str) -> list[Callable[[], object]]:
    """Return what makes a client of a model at an address, for every client that there is."""
    endpoint = Endpoint(base_url=url, api_key="k", timeout_seconds=5.0, max_retries=0)
    return [
        lambda: OpenAIAnswerer(endpoint=endpoint, model="m"),
        lambda: OpenAIEmbedder(endpoint=endpoint, model=EmbeddingModel(name="m", dimensions=4)),
        lambda: OpenAIFactExtractor(endpoint=endpoint, model="m"),
        lambda: OpenAIQuestionRewriter(endpoint=endpoint, model="m"),
        lambda: HttpReranker(url=url, model="", api_key="", timeout_seconds=5.0),
    ]


@pytest.mark.parametrize("host", REFUSED_HOSTS)
def test_an_address_without_a_model_is_refused_at_the_start(host: str) -> None:
    for make in models(f"http://user:canary@{host}:80/v1"):
        with pytest.raises(ConfigurationError) as caught:
            make()
        assert caught.value.field in ("OPENAI_BASE_URL", "RERANK_URL")
        assert caught.value.limit
        assert caught.value.remedy
        assert "canary" not in str(caught.value)
        assert host not in str(caught.value)


@pytest.mark.parametrize("url", ["http://", "http:///v1", "http://[::1/v1", "http://a:99999/v1", "ftp://a/v1", "x"])
def test_what_is_no_address_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_base_url(url, field="OPENAI_BASE_URL")
    assert caught.value.remedy
    assert url in ("x", "http://") or url not in str(caught.value)


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with openai_server() as fake:
        yield fake


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name lead to the addresses, as whoever owns a name can."""

    async def resolved(host: str, port: int, **_: Any) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(guarded_transport.anyio, "getaddrinfo", resolved)


def embedder(url: str) -> OpenAIEmbedder:
    endpoint = Endpoint(base_url=url, api_key="k", timeout_seconds=5.0, max_retries=0)
    return OpenAIEmbedder(endpoint=endpoint, model=EmbeddingModel(name="m", dimensions=4))


async def test_a_name_that_leads_to_the_metadata_service_is_not_connected_to(
    monkeypatch: pytest.MonkeyPatch, server: FakeOpenAI
) -> None:
    """The address is that of a listener here, so that a connection would succeed if it were made."""
    monkeypatch.setattr(guarded_transport, "is_refused", lambda address: str(address) == "127.0.0.1")
    resolving(monkeypatch, "127.0.0.1")
    accepted: list[object] = []

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        writer.close()

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    model = embedder(f"http://models.example:{port}/v1")
    reranker = HttpReranker(url=f"http://models.example:{port}/rerank", model="", api_key="", timeout_seconds=5.0)
    try:
        with pytest.raises(EmbedderUnavailableError) as caught:
            await model.embed_query("x")
        assert caught.value.reason == "address_refused"
        with pytest.raises(SourceUnavailableError) as refused:
            await reranker.scores("x", ["y"])
        assert refused.value.reason == "address_refused"
        assert accepted == []
    finally:
        await model.aclose()
        await reranker.aclose()
        listener.close()


async def test_the_real_rule_holds_when_a_connection_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, "169.254.169.254", "100.100.100.200")
    model = embedder("http://models.example/v1")
    with pytest.raises(EmbedderUnavailableError) as caught:
        await model.embed_query("x")
    assert caught.value.reason == "address_refused"
    await model.aclose()


async def test_of_a_name_with_several_addresses_the_permitted_ones_are_tried(
    monkeypatch: pytest.MonkeyPatch, server: FakeOpenAI
) -> None:
    resolving(monkeypatch, "169.254.169.254", "127.0.0.9", "127.0.0.1")
    port = server.base_url.rpartition(":")[2]
    model = embedder(f"http://models.example:{port}")
    assert len(await model.embed_query("x")) == 4
    assert server.seen[0].headers["host"].startswith("models.example:")
    await model.aclose()


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, server: FakeOpenAI) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    model = embedder(server.base_url)
    assert len(await model.embed_query("x")) == 4
    await model.aclose()


async def test_no_redirect_is_followed(server: FakeOpenAI) -> None:
    server.always = "redirect"
    model = embedder(server.base_url)
    with pytest.raises(EmbedderUnavailableError):
        await model.embed_query("x")
    assert [request.path for request in server.seen] == ["/v1/embeddings"]
    await model.aclose()
