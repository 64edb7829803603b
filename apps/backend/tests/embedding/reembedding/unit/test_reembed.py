"""What a re-embedding does with a model that gives out, refuses or answers in another width. The store is in memory."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import UUID

import pytest

from ragcorp.application.embedding import reembed
from ragcorp.application.embedding.reembed import PAUSES, PROBE, Reembed, ReembedStatus
from ragcorp.domain.embeddings import BacklogCounts, EmbeddingModel, Vector
from ragcorp.domain.exceptions import ConfigurationError, EmbedderUnavailableError
from ragcorp.domain.ingestion import EmbedProgress
from ragcorp.domain.ports.embeddings import ModelState, Rejected
from ragcorp.domain.ports.storage import PendingChunk
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio

OLD = EmbeddingModel(name="old", dimensions=8)
NEW = EmbeddingModel(name="new", dimensions=4)


class Store:
    """Two kinds of text by id; ``did`` tells the steps in their order."""

    kinds: Sequence[str] = ("chunks", "notes")

    def __init__(self, **texts: Sequence[str]) -> None:
        self.texts = {
            (kind, number): pending(number, text)
            for kind in self.kinds
            for number, text in enumerate(texts.get(kind, ()), start=1)
        }
        self.vectors: dict[tuple[str, int], Vector] = {}
        self.current: EmbeddingModel | None = OLD
        self.rejected: Rejected = {}
        self.did: list[str] = []

    @asynccontextmanager
    async def exclusively(self) -> AsyncIterator[None]:
        yield

    async def models(self) -> list[ModelState]:
        return []

    async def active(self) -> EmbeddingModel | None:
        return self.current

    async def register(self, model: EmbeddingModel) -> None:
        self.did.append("register")

    async def count(self, model: EmbeddingModel) -> tuple[int, int]:
        return len(self.texts), len(self.texts) - len(self.vectors)

    async def missing(self, kind: str, *, model: EmbeddingModel, after: int, limit: int) -> list[PendingChunk]:
        keys = sorted(key for key in self.texts if key[0] == kind and key[1] > after and key not in self.vectors)
        return [self.texts[key] for key in keys[:limit]]

    async def store(self, kind: str, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None:
        self.vectors |= {(kind, text.chunk_id): vector for text, vector in vectors.items()}

    async def refresh(self, model: EmbeddingModel, *, rejected: Rejected) -> None:
        self.did.append("refresh")

    async def build_indexes(self, model: EmbeddingModel, *, report: Callable[[int, int], None]) -> None:
        self.did.append(f"index {len(self.vectors)}")

    async def activate(self, model: EmbeddingModel, *, rejected: Rejected) -> None:
        self.did.append("activate")
        self.current, self.rejected = model, rejected

    async def drop_indexes(self, model: EmbeddingModel) -> None: ...

    async def delete_vectors(self, model: EmbeddingModel, *, limit: int) -> int:
        return 0


class Cache:
    def __init__(self, *known: str) -> None:
        self.known = {digest(text): (1.0, 0.0, 0.0, 0.0) for text in known}

    async def get(self, keys: Sequence[bytes], *, model: EmbeddingModel, workspace: str) -> Mapping[bytes, Vector]:
        return {key: self.known[key] for key in keys if key in self.known}

    async def put(self, vectors: Mapping[bytes, Vector], *, model: EmbeddingModel, workspace: str) -> None: ...


class Backlog:
    def __init__(self, *waiting: int) -> None:
        self.waiting = list(waiting)

    async def embed(self, *, document_id: UUID | None = None, workspace: str | None = None) -> EmbedProgress:
        return EmbedProgress(embedded=self.waiting.pop() if self.waiting else 0, failed=0)

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        return BacklogCounts(pending=sum(self.waiting), failed=0)


class Model(HashingEmbedder):
    """Refuses calls with BAD in them, and fails by the ``outages`` it is given, call by call."""

    def __init__(self, *outages: str | None, width: int = 4, batch_size: int = 2) -> None:
        super().__init__(model=NEW)
        self.batch_size = batch_size
        self.outages = list(outages)
        self.width = width
        self.calls: list[list[str]] = []

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self.calls.append(list(texts))
        reason = self.outages.pop(0) if self.outages else None
        if reason is None and any("BAD" in text for text in texts):
            reason = "rejected"
        if reason is not None:
            raise EmbedderUnavailableError("no", reason=reason)
        return [(*vector, *[0.0] * 4)[: self.width] for vector in await super().embed_passages(texts)]


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def pending(number: int, text: str, workspace: str = "default") -> PendingChunk:
    return PendingChunk(chunk_id=number, workspace=workspace, index_text=text, index_hash=digest(text))


def over(store: Store, model: Model, *, cache: Cache | None = None, backlog: Backlog | None = None) -> Any:
    paused: list[float] = []

    async def sleep(seconds: float) -> None:
        paused.append(seconds)

    use_case = Reembed(embedder=model, store=store, cache=cache or Cache(), backlog=backlog or Backlog(), sleep=sleep)
    return use_case, paused


async def test_indexes_come_after_the_vectors_and_the_switch_last() -> None:
    store = Store(chunks=["uno", "dos"], notes=["tres"])
    use_case, _ = over(store, Model())
    done = await use_case.reembed()
    assert (done.status, done.embedded, done.waiting) == (ReembedStatus.SWITCHED, 3, 0)
    assert store.did == ["register", "refresh", "index 3", "refresh", "activate"]


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (Model("unreachable"), EmbedderUnavailableError),
        (Model("rejected"), EmbedderUnavailableError),
        (Model("invalid_vector"), EmbedderUnavailableError),
        (Model("wrong_width"), ConfigurationError),
        (Model(width=5), ConfigurationError),
        (Model(width=3), ConfigurationError),
    ],
)
async def test_a_model_that_is_not_there_or_of_another_width_changes_nothing(
    model: Model, error: type[Exception]
) -> None:
    store = Store(chunks=["uno"])
    use_case, _ = over(store, model)
    with pytest.raises(error):
        await use_case.reembed()
    assert store.did == []
    assert model.calls == [[PROBE]]


async def test_an_outage_half_way_is_waited_out_and_a_long_one_keeps_what_is_made() -> None:
    store = Store(chunks=["uno", "dos", "tres"])
    model = Model(None, None, "timeout", "unreachable", batch_size=1)
    use_case, paused = over(store, model)
    assert (await use_case.reembed()).embedded == 3
    assert paused == [1.0, 2.0]

    store = Store(chunks=["uno", "dos"])
    use_case, paused = over(store, Model(None, None, *["unreachable"] * 7, batch_size=1))
    with pytest.raises(EmbedderUnavailableError):
        await use_case.reembed()
    assert paused == list(PAUSES)
    assert store.current == OLD
    assert len(store.vectors) == 1


async def test_the_one_text_at_fault_is_found_by_halves_and_asked_for_no_more() -> None:
    texts = ["uno", "dos", "tres", "BAD", "cinco", "seis", "siete", "ocho"]
    store = Store(chunks=texts)
    model = Model(batch_size=8)
    use_case, _ = over(store, model)
    done = await use_case.reembed()
    assert (done.embedded, done.rejected) == (7, 1)
    assert store.rejected == {"chunks": {4: digest("BAD")}}
    assert model.calls == [
        [PROBE],
        texts,
        ["uno", "dos", "tres", "BAD"],
        ["uno", "dos"],
        ["tres", "BAD"],
        ["tres"],
        ["BAD"],
        ["cinco", "seis", "siete", "ocho"],
    ]


async def test_equal_texts_cost_one_call_and_known_ones_none() -> None:
    store = Store(chunks=["uno", "dos", "uno", "uno", "tres"])
    model = Model()
    use_case, _ = over(store, model, cache=Cache("tres"))
    done = await use_case.reembed()
    assert (done.embedded, done.known) == (4, 1)
    assert sorted(model.embedded) == sorted([PROBE, "uno", "dos"])
    assert len(store.vectors) == 5


async def test_equal_texts_of_two_workspaces_are_embedded_for_each() -> None:
    store = Store()
    store.texts = {("chunks", 1): pending(1, "uno"), ("chunks", 2): pending(2, "uno", workspace="otra")}
    model = Model()
    use_case, _ = over(store, model)
    await use_case.reembed()
    assert model.embedded == [PROBE, "uno", "uno"]


async def test_what_the_switch_listed_is_worked_off() -> None:
    backlog = Backlog(3, 2)
    use_case, _ = over(Store(), Model(), backlog=backlog)
    done = await use_case.reembed()
    assert (done.waiting, backlog.waiting) == (0, [])


async def test_progress_counts_what_was_there_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "IN_FLIGHT", 1)
    store = Store(chunks=["uno", "dos", "tres", "cuatro"])
    store.vectors[("chunks", 1)] = (1.0, 0.0, 0.0, 0.0)
    told: dict[str, list[tuple[int, int]]] = {}

    @contextmanager
    def progress(task: str, unit: str) -> Iterator[Callable[[int, int], None]]:
        yield lambda done, total: told.setdefault(task, []).append((done, total))

    use_case, _ = over(store, Model(batch_size=1))
    await use_case.reembed(progress=progress)
    making = list(dict.fromkeys(told["Making vectors"]))
    assert making == [(1, 4), (2, 4), (3, 4), (4, 4)]
