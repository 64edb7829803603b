"""Use case: plan the entities of an episode's turn, and record them."""

import asyncio
import logging
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragcorp.application.hydration.budget_filling import OUTAGES, BudgetFilling, Filling, KeywordChunks, Turn
from ragcorp.application.hydration.plan import nearest_first, plan, without
from ragcorp.application.resilience.circuit_breaker import CircuitBreaker
from ragcorp.application.resilience.source_reports import failure_report
from ragcorp.application.resilience.time_bound import run_until
from ragcorp.application.structure.anchor_lookup import AnchorLookup, AnchorSet
from ragcorp.application.structure.anchors import AnchorOptions
from ragcorp.application.structure.mentions.files import FILE_NAMES
from ragcorp.application.structure.mentions.parsing import mentions
from ragcorp.application.structure.mentions.shapes import Mention
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import DOCUMENT_FIELDS, Filters, fields_of, narrowed_to
from ragcorp.domain.ports.episodes import EpisodeStore
from ragcorp.domain.ports.file_search import TermFrequencies
from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.ports.structure import StructureIndex
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION, SourceOutcome, SourceReport
from ragcorp.domain.structure.hydration import (
    HydratedEntity,
    Hydration,
    HydrationLimits,
    HydrationUse,
    HydrationWarning,
    WarningCode,
)
from ragcorp.domain.text.utterances import content_words

logger = logging.getLogger(__name__)

STRUCTURE = "structure"
EPISODES = "episodes"
"""Names of the anchor lookups in ``degraded``."""

LEAST_WORDS = 2
"""Minimum content words of a description."""

MOST_LOGGED = 10
"""Maximum log lines for the dropped anchors of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HydrationOptions:
    """Anchors, budgets, timeouts (seconds) and minimum cosine; ``semantic`` False turns off similarity and keywords."""

    anchors: AnchorOptions = field(default_factory=AnchorOptions)
    semantic: bool = True
    threshold: float = 0.7
    limits: HydrationLimits = field(default_factory=HydrationLimits)
    timeout_seconds: float = 4.0
    semantic_timeout_seconds: float = 3.0
    record_timeout_seconds: float = 1.0


class HydrateEpisode:
    """Anchors first, similar entities second, keywords where nothing is similar; parts that fail are named.

    A turn makes at most thirteen port calls: eight for anchors, one for similarity, two for keywords, one for texts,
    one to record. The model runs in parallel with the lookups, without holding a connection.
    """

    def __init__(
        self,
        *,
        index: StructureIndex,
        episodes: EpisodeStore,
        embedder: Embedder,
        keywords: KeywordChunks,
        frequencies: TermFrequencies,
        options: HydrationOptions,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self._index = index
        self._episodes = episodes
        self._options = options
        self._anchors = AnchorLookup(index=index, episodes=episodes, frequencies=frequencies, options=options.anchors)
        self._filling = BudgetFilling(
            embedder=embedder,
            index=index,
            keywords=keywords,
            limits=options.limits,
            threshold=options.threshold,
            breaker=breaker or CircuitBreaker(failures=0),
        )

    async def prepare(self, query: str, *, episode_id: str, principal: Principal, filters: Filters = ()) -> Hydration:
        """Return the turn's hydration without recording it; without structure it is empty and names the reason."""
        narrowed = narrowed_to(filters, CHUNK_COLLECTION)
        lacking = frozenset() if narrowed is None else fields_of(narrowed) - DOCUMENT_FIELDS
        if narrowed is None or lacking:
            reason = f"filter:{','.join(sorted(lacking))}"
            skipped = SourceReport(source=STRUCTURE, outcome=SourceOutcome.SKIPPED, elapsed_ms=0.0, reason=reason)
            return self._empty(episode_id, *([skipped] if lacking else []))
        started, now = time.perf_counter(), asyncio.get_running_loop().time()
        seconds = self._options.timeout_seconds
        turn = Turn(
            query=query,
            mentions=mentions(query),
            episode_id=episode_id,
            principal=principal,
            filters=narrowed,
            deadline=now + seconds,
            semantic_deadline=now + min(seconds, self._options.semantic_timeout_seconds),
        )
        text = described(query, turn.mentions) if self._options.anchors.file_mentions else query
        embedding = self._filling.begin(text, turn) if self._is_semantic else None
        try:
            return await self._planned(turn, embedding)
        except OUTAGES as error:
            report = failure_report(STRUCTURE, error, started)
            logger.warning("nothing was hydrated: %s", report.reason)
            return self._empty(episode_id, report)
        finally:
            if embedding is not None:
                embedding.cancel()

    async def record(self, hydration: Hydration, *, query: str, principal: Principal) -> Hydration:
        """Return the hydration with its turn; if it could not be recorded, without a turn and with the reason."""
        if any(
            report.source == STRUCTURE and report.outcome is not SourceOutcome.SKIPPED for report in hydration.reports
        ):
            return _unrecorded(hydration)
        started = time.perf_counter()
        deadline = asyncio.get_running_loop().time() + self._options.record_timeout_seconds
        try:
            number = await run_until(deadline, self._episodes.record(hydration, query=query, principal=principal))
        except OUTAGES as error:
            report = failure_report(EPISODES, error, started)
            logger.warning("a turn was not recorded: %s", report.reason)
            others = tuple(report for report in hydration.reports if report.source != EPISODES)
            return _unrecorded(replace(hydration, reports=(*others, report)))
        return replace(hydration, turn=number)

    @property
    def _is_semantic(self) -> bool:
        limits = self._options.limits
        return self._options.semantic and limits.semantic_tokens > 0 and limits.semantic_entities > 0

    async def _planned(self, turn: Turn, embedding: asyncio.Task[Vector | SourceReport] | None) -> Hydration:
        started = time.perf_counter()
        lookup = self._anchors.find(
            turn.mentions, episode_id=turn.episode_id, principal=turn.principal, filters=turn.filters
        )
        anchored = await run_until(turn.deadline, lookup)
        more = await self._filling.fill(turn, anchored.anchors, embedding) if self._is_semantic else Filling()
        planned = plan(
            nearest_first(anchored.anchors, more.scores),
            more.candidates,
            limits=self._options.limits,
            warnings=(*anchored.warnings, *more.warnings),
        )
        texts = {}
        if planned.entities:
            ids = [entity.entity.id for entity in planned.entities]
            texts = dict(await run_until(turn.deadline, self._index.texts(ids, principal=turn.principal)))
        error = anchored.episodes_error
        reports = () if error is None else (failure_report(EPISODES, error, started),)
        # without entities that were deleted meanwhile
        left = without(planned, {entity.entity.id for entity in planned.entities} - texts.keys())
        hydration = Hydration(
            episode_id=turn.episode_id,
            entities=tuple(HydratedEntity(planned=entity, text=texts[entity.entity.id]) for entity in left.entities),
            dropped=left.dropped,
            warnings=left.warnings,
            use=left.use,
            model=more.model,
            reports=(*reports, *more.reports),
        )
        _log(anchored, more, hydration)
        return hydration

    def _empty(self, episode_id: str, *reports: SourceReport) -> Hydration:
        return Hydration(episode_id=episode_id, use=HydrationUse(limits=self._options.limits), reports=reports)


def described(query: str, mentions: Sequence[Mention]) -> str:
    """Return the query without its anchored file names, which would distract a model, if two content words remain."""
    composed = unicodedata.normalize("NFC", query)
    rest, place = [], 0
    for mention in mentions:
        if not mention.weak and mention.start >= place and all(name.startswith(FILE_NAMES) for name in mention.names):
            rest.append(composed[place : mention.start])
            place = mention.end
    left = " ".join("".join([*rest, composed[place:]]).split())
    return left if place and len(content_words(left)) >= LEAST_WORDS else query


def _unrecorded(hydration: Hydration) -> Hydration:
    warning = HydrationWarning(
        code=WarningCode.NOT_RECORDED,
        message="This turn is not recorded: later turns and introspection do not know what it shows. Try again later.",
    )
    return replace(hydration, turn=None, warnings=(*hydration.warnings, warning))


def _log(lookup: AnchorSet, more: Filling, hydration: Hydration) -> None:
    """Log the plan's counts; never the query, names or the episode id."""
    for anchor in lookup.anchors:
        logger.debug("an anchor (%s, priority %d)", anchor.reasons[0], anchor.priority)
    for dropped in hydration.dropped[:MOST_LOGGED]:
        logger.warning(
            "an anchor was dropped (%s, %d tokens, budget of %s)", dropped.reasons[0], dropped.tokens, dropped.budget
        )
    if len(hydration.dropped) > MOST_LOGGED:
        logger.warning("%d anchors more were dropped", len(hydration.dropped) - MOST_LOGGED)
    logger.info(
        "hydration: %d anchors, %d candidates (top score %.2f), %d entities, %d of %d tokens",
        len(lookup.anchors),
        len(more.candidates),
        max((candidate.score for candidate in more.candidates), default=0.0),
        hydration.use.entities,
        hydration.use.tokens,
        hydration.use.limits.max_tokens,
    )
