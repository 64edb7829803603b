"""Fills the budget left after the anchors with similar entities; falls back to keywords."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ragcorp.application.hydration.plan import has_room, plan
from ragcorp.application.resilience.circuit_breaker import Admission, CircuitBreaker, Verdict
from ragcorp.application.resilience.source_reports import failure_report
from ragcorp.application.resilience.time_bound import run_until
from ragcorp.application.structure.mentions.shapes import Mention
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import (
    ConfigurationError,
    ConflictError,
    EmbedderUnavailableError,
    SourceUnavailableError,
)
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.models import Embedder, embed_query
from ragcorp.domain.ports.storage import LexicalChunks
from ragcorp.domain.ports.structure import StructureIndex
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.search.lexical import MIN_EVIDENCE_SHARE
from ragcorp.domain.structure.entities import EntityIdentity
from ragcorp.domain.structure.hydration import (
    Anchor,
    Channel,
    HydrationCandidate,
    HydrationLimits,
    HydrationWarning,
    WarningCode,
)

logger = logging.getLogger(__name__)

SEMANTIC = "semantic"
KEYWORD = "keyword"
"""Names of the channels in ``degraded``."""

SPARE = 2
"""Candidates fetched for each one that may be shown: some are too large for the budget."""

MOST_SIMILAR = 1000
MOST_CHUNKS = 50
"""Maximum chunks of a keyword lookup."""

OUTAGES = (SourceUnavailableError, ConflictError, ConfigurationError, TimeoutError)
"""Errors that count as an outage of a store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Candidates, and the similarity of anchors; ``model`` is set where similarities were computed."""

    candidates: tuple[HydrationCandidate, ...] = ()
    scores: Mapping[EntityIdentity, float] = field(default_factory=dict)
    warnings: tuple[HydrationWarning, ...] = ()
    reports: tuple[SourceReport, ...] = ()
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn to hydrate; its deadlines are on the event loop's clock, the semantic one also for keywords."""

    query: str
    mentions: tuple[Mention, ...]
    episode_id: str
    principal: Principal
    filters: Filters
    deadline: float
    semantic_deadline: float


class KeywordChunks(Protocol):
    """Finds chunks by full text."""

    async def find_chunks_full_text(
        self, query: str, *, principal: Principal, filters: Filters = (), limit: int
    ) -> LexicalChunks:
        """Raises StorageUnavailableError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFilling:
    """Embeds during the lookup of anchors. Candidates exceed the ``threshold``; ``breaker`` skips a failing model."""

    embedder: Embedder
    index: StructureIndex
    keywords: KeywordChunks
    limits: HydrationLimits
    threshold: float
    breaker: CircuitBreaker

    def begin(self, text: str, turn: Turn) -> asyncio.Task[Vector | SourceReport] | None:
        """Start to embed; None without a model. The caller cancels the task at the end."""
        if self.embedder.model.dimensions == 0:
            return None
        return asyncio.create_task(self._embedded(text, turn))

    async def fill(
        self, turn: Turn, anchors: Sequence[Anchor], embedding: asyncio.Task[Vector | SourceReport] | None
    ) -> Filling:
        room = has_room(plan(anchors, (), limits=self.limits))
        anchored = frozenset(anchor.entity.identity for anchor in anchors)
        if embedding is None:
            return await self._by_keywords(turn, anchored) if room else Filling()
        if not room and not any(anchor.along for anchor in anchors):
            return Filling()
        embedded = await embedding
        if isinstance(embedded, SourceReport):
            return _structural_only(embedded)
        started = time.perf_counter()
        try:
            filling = await run_until(turn.semantic_deadline, self._similar(turn, embedded, anchored))
        except OUTAGES as error:
            return _structural_only(failure_report(SEMANTIC, error, started))
        if filling.candidates or not room:
            return filling
        by_keywords = await self._by_keywords(turn, anchored)
        shown = "what holds its words" if by_keywords.candidates else "nothing"
        warning = HydrationWarning(
            code=WarningCode.NO_SEMANTIC_CANDIDATES,
            message=f"Nothing else is more similar to the query than {self.threshold:.2f}: {shown} is shown beside the"
            " anchors. Lower SEMANTIC_THRESHOLD to see more.",
        )
        return replace(filling, candidates=by_keywords.candidates, reports=by_keywords.reports, warnings=(warning,))

    async def _embedded(self, text: str, turn: Turn) -> Vector | SourceReport:
        clock = asyncio.get_running_loop().time
        started = time.perf_counter()
        admission = self.breaker.admit([SEMANTIC], now=clock(), replaceable=True)[SEMANTIC]
        if admission is Admission.REFUSED:
            return SourceReport(source=SEMANTIC, outcome=SourceOutcome.SKIPPED, elapsed_ms=0.0, reason="circuit_open")
        verdict = Verdict.NOTHING
        try:
            embedding = embed_query(self.embedder, text, workspace=turn.principal.workspace)
            vector = await run_until(turn.semantic_deadline, embedding)
            verdict = Verdict.WELL
        except (EmbedderUnavailableError, TimeoutError) as error:
            verdict = Verdict.FAILED
            return failure_report(SEMANTIC, error, started)
        except Exception:  # the bug of a custom embedder is its outage: logged and named
            verdict = Verdict.FAILED
            logger.exception("the embedder raised an unexpected error")
            return failure_report(SEMANTIC, EmbedderUnavailableError("out", reason="error"), started)
        else:
            return vector
        finally:
            self.breaker.settle(SEMANTIC, admission, verdict, now=clock())

    async def _similar(self, turn: Turn, vector: Vector, anchored: frozenset[EntityIdentity]) -> Filling:
        limit = min(MOST_SIMILAR, SPARE * self.limits.semantic_entities + len(anchored))
        similar = await self.index.similar(vector, principal=turn.principal, filters=turn.filters, limit=limit)
        near = [entry for entry in similar if entry.score > self.threshold]
        return Filling(
            candidates=tuple(
                HydrationCandidate(entity=entry.entity, score=min(1.0, max(0.0, entry.score)))
                for entry in near
                if entry.entity.identity not in anchored
            ),
            scores={entry.entity.identity: entry.score for entry in near if entry.entity.identity in anchored},
            model=self.embedder.model.name,
        )

    async def _by_keywords(self, turn: Turn, anchored: frozenset[EntityIdentity]) -> Filling:
        started = time.perf_counter()
        try:
            candidates = await run_until(turn.semantic_deadline, self._keyword_candidates(turn, anchored))
        except OUTAGES as error:
            return Filling(reports=(failure_report(KEYWORD, error, started),))
        return Filling(candidates=candidates)

    async def _keyword_candidates(
        self, turn: Turn, anchored: frozenset[EntityIdentity]
    ) -> tuple[HydrationCandidate, ...]:
        """Return entities by the largest evidence share of their chunks, at least a fifth; only BM25 gives shares."""
        chunks = await self.keywords.find_chunks_full_text(
            turn.query, principal=turn.principal, filters=turn.filters, limit=MOST_CHUNKS
        )
        shares = {
            hit.chunk_id: hit.evidence
            for hit in chunks.ranked_list
            if hit.chunk_id is not None and hit.evidence is not None and hit.evidence >= MIN_EVIDENCE_SHARE
        }
        if not shares:
            return ()
        by_chunk = await self.index.at_chunks(list(shares), principal=turn.principal, filters=turn.filters)
        best: dict[EntityIdentity, HydrationCandidate] = {}
        for chunk_id, entities in by_chunk.items():
            for entity in entities:
                share = shares[chunk_id]
                previous = best.get(entity.identity)
                if entity.identity not in anchored and (previous is None or previous.score < share):
                    best[entity.identity] = HydrationCandidate(entity=entity, score=share, channel=Channel.KEYWORD)
        return tuple(best.values())


def _structural_only(report: SourceReport) -> Filling:
    logger.warning("hydration falls back to anchors alone: %s", report.reason)
    warning = HydrationWarning(
        code=WarningCode.STRUCTURAL_ONLY,
        message=f"Similarity is unavailable ({report.reason}): only anchors are shown. Try again later.",
    )
    return Filling(warnings=(warning,), reports=(report,))
