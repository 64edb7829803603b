"""Overlapping batches, ended, refused and cancelled in any order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcorp.application.embedding.passage_vectors import PassageVectors, VectorMemory
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError
from support.models.passage_vectors import GatedCalls, KeptVectors, settled, wanted

BOUND_SECONDS = 20.0

TEXTS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5, unique=True)


@dataclass(frozen=True)
class Ask:
    texts: tuple[str, ...]
    remember: bool


@dataclass(frozen=True)
class Cancel:
    number: int


@dataclass(frozen=True)
class End:
    """``f`` is refused wherever it stands; ``fails`` is an outage."""

    number: int
    fails: bool


STEPS = st.lists(
    st.one_of(
        st.builds(Ask, TEXTS.map(tuple), st.booleans()),
        st.builds(Cancel, st.integers(0, 99)),
        st.builds(End, st.integers(0, 99), st.integers(0, 3).map(lambda one: one == 0)),
    ),
    min_size=1,
    max_size=25,
)


class Refusing(GatedCalls):
    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        made = await super().embed_passages(texts)
        if "f" in texts:
            raise EmbedderUnavailableError("f is refused", reason="rejected")
        return made


async def run(steps: Sequence[Ask | Cancel | End], *, pauses: Sequence[bool], memory: bool, known: str) -> None:
    embedder, cache = Refusing(), KeptVectors()
    for key, text in wanted(*known).items():
        await cache.put({key[1]: embedder.vector(text)}, model=embedder.model, workspace=key[0])
    vectors = PassageVectors(
        embedder=embedder, cache=cache, memory=VectorMemory(size=4 if memory else 0, ttl_seconds=60)
    )
    asked: list[tuple[Ask, asyncio.Task[dict[tuple[str, bytes], Vector]]]] = []
    cancelled: set[int] = set()
    for step, pause in zip(steps, pauses, strict=True):
        match step:
            case Ask(texts=texts, remember=remember):
                asked.append((step, asyncio.create_task(vectors.of(wanted(*texts), remember=remember))))
            case Cancel(number=number) if asked:
                if asked[number % len(asked)][1].cancel():
                    cancelled.add(number % len(asked))
            case End(number=number, fails=fails) if embedder.waiting:
                error = EmbedderUnavailableError("out", reason="unreachable") if fails else None
                embedder.end(number % len(embedder.waiting), error=error)
        if pause:
            await settled()
    failed = any(isinstance(step, End) and step.fails for step in steps)
    # whatever is left ends when the model answers
    async with asyncio.timeout(BOUND_SECONDS):
        while not all(task.done() for _, task in asked):
            for index in range(len(embedder.waiting)):
                embedder.end(index)
            await settled()
    assert embedder.overlaps == []
    assert embedder.waiting == []
    for number, (ask, task) in enumerate(asked):
        if task.cancelled():
            assert number in cancelled
            continue
        error = task.exception()
        if error is None:
            assert task.result() == {key: embedder.vector(text) for key, text in wanted(*ask.texts).items()}
        else:
            assert isinstance(error, EmbedderUnavailableError)
            assert ("f" in ask.texts and "f" not in known) if error.reason == "rejected" else failed
    # nothing is left behind: who comes now is served by a call of its own
    late = asyncio.create_task(vectors.of(wanted("a", "b")))
    async with asyncio.timeout(BOUND_SECONDS):
        while not late.done():
            for index in range(len(embedder.waiting)):
                embedder.end(index)
            await settled()
    assert late.result() == {key: embedder.vector(text) for key, text in wanted("a", "b").items()}


def check(data: st.DataObject) -> None:
    steps = data.draw(STEPS)
    pauses = data.draw(st.lists(st.booleans(), min_size=len(steps), max_size=len(steps)))
    known = "".join(data.draw(st.lists(st.sampled_from("abcdef"), max_size=2, unique=True)))
    asyncio.run(run(steps, pauses=pauses, memory=data.draw(st.booleans()), known=known))


@given(st.data())
def test_every_passage_is_embedded_at_most_once_at_a_time_and_everyone_is_served(data: st.DataObject) -> None:
    check(data)


@pytest.mark.soak
@settings(max_examples=5000, deadline=None)
@given(st.data())
def test_every_passage_is_embedded_at_most_once_at_a_time_and_everyone_is_served_often(data: st.DataObject) -> None:
    check(data)
