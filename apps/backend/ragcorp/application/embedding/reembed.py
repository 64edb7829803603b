"""Use case: make the vectors of another model while the current ones stay in use, then switch."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ragcorp.application.embedding.passage_vectors import REJECTED, PassageKey, cached_vectors
from ragcorp.application.resilience.time_bound import run_together
from ragcorp.application.upkeep.task_progress import Progress, Report, no_progress
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import ConfigurationError, EmbedderUnavailableError
from ragcorp.domain.ports.embeddings import Reembedding
from ragcorp.domain.ports.models import Embedder, EmbeddingCache
from ragcorp.domain.ports.storage import PendingChunk
from ragcorp.domain.ports.use_cases import BacklogEmbedding

IN_FLIGHT = 4
"""Batches that are embedded concurrently."""

PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds between attempts if the model becomes unavailable."""

MAX_ROUNDS = 20
"""Rounds of catching up with writers; the switch lists what is left."""

PROBE = "¿Cuál es el plazo de entrega?"

WRONG_WIDTH = "wrong_width"

Sleep = Callable[[float], Awaitable[None]]


class ReembedStatus(StrEnum):
    SWITCHED = "switched"
    READY = "ready"
    ALREADY_ACTIVE = "already_active"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReembedOutcome:
    """Counts. ``known`` vectors came from the cache; ``waiting`` texts, ``rejected`` ones among them, have none yet."""

    model: EmbeddingModel
    status: ReembedStatus
    embedded: int = 0
    known: int = 0
    rejected: int = 0
    waiting: int = 0


@dataclass(slots=True, kw_only=True)
class _Run:
    report: Report
    total: int
    missing: int
    embedded: int = 0
    cached: int = 0
    rejected: dict[str, dict[int, bytes]] = field(default_factory=dict)

    def show(self) -> None:
        """Report the progress; texts that writers add raise the total."""
        done = self.total - self.missing + self.embedded + self.cached
        self.report(done, max(self.total, done))

    @property
    def refused(self) -> int:
        return sum(map(len, self.rejected.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembed:
    """Holds no connection while a model runs. An interrupted run continues where it stopped."""

    embedder: Embedder
    store: Reembedding
    cache: EmbeddingCache
    backlog: BacklogEmbedding
    sleep: Sleep = asyncio.sleep

    async def reembed(self, *, switch: bool = True, progress: Progress = no_progress) -> ReembedOutcome:
        r"""Return when the model is active, or ready without ``switch``; vectors are kept.

        Raises ConfigurationError, ConflictError (see the port), EmbedderUnavailableError or StorageUnavailableError.
        """
        model = self.embedder.model
        async with self.store.exclusively():
            if await self.store.active() == model:
                waiting = await self._work_off(progress)
                return ReembedOutcome(model=model, status=ReembedStatus.ALREADY_ACTIVE, waiting=waiting)
            await self._probe()
            await self.store.register(model)
            total, missing = await self.store.count(model)
            with progress("Making vectors", "texts") as report:
                run = _Run(report=report, total=total, missing=missing)
                await self._fill(run)
            await self.store.refresh(model, rejected=run.rejected)
            # after the vectors: building an HNSW graph at once is many times faster than inserting into it
            with progress("Building indexes", "indexes") as report:
                await self.store.build_indexes(model, report=report)
            with progress("Catching up", "texts") as report:
                run.report = report
                await self._fill(run)
            await self.store.refresh(model, rejected=run.rejected)
            if not switch:
                return self._outcome(run, ReembedStatus.READY, waiting=(await self.store.count(model))[1])
            await self.store.activate(model, rejected=run.rejected)
            return self._outcome(run, ReembedStatus.SWITCHED, waiting=await self._work_off(progress))

    def _outcome(self, run: _Run, status: ReembedStatus, *, waiting: int) -> ReembedOutcome:
        return ReembedOutcome(
            model=self.embedder.model,
            status=status,
            embedded=run.embedded,
            known=run.cached,
            rejected=run.refused,
            waiting=waiting,
        )

    async def _probe(self) -> None:
        """Check that the model is available and returns vectors of this width."""
        try:
            vectors = await self.embedder.embed_passages([PROBE])
        except EmbedderUnavailableError as error:
            if error.reason == WRONG_WIDTH:
                raise _wrong_width() from error
            raise
        if [len(vector) for vector in vectors] != [self.embedder.model.dimensions]:
            raise _wrong_width()

    async def _fill(self, run: _Run) -> None:
        """Embed all texts; repeat until a round finds at most one page."""
        run.show()
        for _ in range(MAX_ROUNDS):
            embedded = [await self._embed_missing(kind, run) for kind in self.store.kinds]
            if sum(embedded) <= self._page:
                break

    @property
    def _page(self) -> int:
        return self.embedder.batch_size * IN_FLIGHT

    async def _embed_missing(self, kind: str, run: _Run) -> int:
        count, after = 0, 0
        while texts := await self.store.missing(kind, model=self.embedder.model, after=after, limit=self._page):
            after = texts[-1].chunk_id
            refused = run.rejected.get(kind, {})
            texts = [text for text in texts if refused.get(text.chunk_id) != text.index_hash]
            count += len(texts)
            await self._make(kind, texts, run)
        return count

    async def _make(self, kind: str, texts: Sequence[PendingChunk], run: _Run) -> None:
        """Store cached vectors, then embed the rest in batches; equal texts of a workspace once."""
        cached = await cached_vectors(self.cache, [text.key for text in texts], model=self.embedder.model)
        await self._put(kind, {text: cached[text.key] for text in texts if text.key in cached})
        run.cached += sum(text.key in cached for text in texts)
        run.show()
        equal: dict[PassageKey, list[PendingChunk]] = {}
        for text in texts:
            if text.key not in cached:
                equal.setdefault(text.key, []).append(text)
        groups = list(equal.values())
        size = self.embedder.batch_size
        await run_together(
            [self._embed(kind, groups[start : start + size], run) for start in range(0, len(groups), size)]
        )

    async def _embed(self, kind: str, groups: Sequence[Sequence[PendingChunk]], run: _Run) -> None:
        vectors = await self._vectors([texts[0].index_text for texts in groups])
        made: dict[PendingChunk, Vector] = {}
        for texts, vector in zip(groups, vectors, strict=True):
            if vector is None:
                run.rejected.setdefault(kind, {}).update({text.chunk_id: text.index_hash for text in texts})
            else:
                made |= dict.fromkeys(texts, vector)
        await self._put(kind, made)
        run.embedded += len(made)
        run.show()

    async def _put(self, kind: str, vectors: dict[PendingChunk, Vector]) -> None:
        if vectors:
            await self.store.store(kind, vectors, model=self.embedder.model)

    async def _vectors(self, texts: Sequence[str]) -> list[Vector | None]:
        """Embed, waiting outages out; a batch that is refused is halved until the text at fault is found (None)."""
        for pause in (*PAUSES, None):
            try:
                return list(await self.embedder.embed_passages(texts))
            except EmbedderUnavailableError as error:
                if error.reason == REJECTED:
                    break
                if pause is None:
                    raise
                await self.sleep(pause)
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return [*await self._vectors(texts[:half]), *await self._vectors(texts[half:])]

    async def _work_off(self, progress: Progress) -> int:
        """Process the backlog, except what others have claimed; return how many texts are left, failed included."""
        counts = await self.backlog.counts()
        if counts.pending == counts.failed:
            return counts.pending
        total = counts.pending - counts.failed
        with progress("Making the last vectors", "texts") as report:
            while counts.pending > counts.failed and not (await self.backlog.embed()).idle:
                counts = await self.backlog.counts()
                total = max(total, counts.pending - counts.failed)
                report(total - counts.pending + counts.failed, total)
        return counts.pending


def _wrong_width() -> ConfigurationError:
    return ConfigurationError(
        "The model's vectors have another width than --dimensions says. Nothing was changed.",
        field="--dimensions",
        remedy="Give the width that the model makes; one that takes `dimensions` can shorten its vectors.",
    )
