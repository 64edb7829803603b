"""Builds the search: sources, profiles, ranking, hydration and roll-out."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ragcorp.application.retrieval.fusion.linear import LinearFusionService
from ragcorp.application.retrieval.rollout.assignment import RolloutObservers, planned_rollout
from ragcorp.application.retrieval.rollout.running import RunningRollout
from ragcorp.application.retrieval.rollout.shadow import COMPARED, ShadowLimits, ShadowSearch
from ragcorp.application.retrieval.search.fan_out import SourceFanOut
from ragcorp.application.retrieval.search.highlights import Highlighter
from ragcorp.application.retrieval.search.plan import SearchPlanner, SearchRules
from ragcorp.application.retrieval.search.ranked_search import RankedSearch
from ragcorp.application.retrieval.search.routed_candidates import RoutedCandidateStore
from ragcorp.application.retrieval.search.step_pipeline import RerankLimits, StepPipeline
from ragcorp.application.retrieval.search_chunks import SearchChunks
from ragcorp.application.status.model_health import ModelHealth
from ragcorp.domain.files.values import FILES
from ragcorp.domain.ports.sources import FusionService, RetrievalSource
from ragcorp.domain.search.requests import FusionMethod, SearchMode
from ragcorp.domain.search.sources import GRAPH_FACTS, GREP, STRUCTURE
from ragcorp.infrastructure.postgres.collections.candidate_store import PostgresCandidateStore
from ragcorp.infrastructure.postgres.documents.scoring import PostgresChunkScoring
from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTextAnalyzer
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.base import Base, Parts
from ragcorp.main.wiring.files import FileParts
from ragcorp.main.wiring.graph import graph_source
from ragcorp.main.wiring.hydration import HydrationParts, structure_source
from ragcorp.main.wiring.models import make_reranker
from ragcorp.main.wiring.retrieval import chunk_sources, collection_sources, profiles_of

CONNECTIONS_PER_SHADOW = 8
"""Pool connections for each concurrent shadow search: it uses a few, and responses come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchParts:
    """The search, and what metrics and status report about it."""

    search: SearchChunks
    rollout_observers: RolloutObservers
    model_health: ModelHealth
    breaker_states: Callable[[], Mapping[str, str]]
    reranks: bool


def make_search(base: Base, parts: Parts, *, files: FileParts, hydration: HydrationParts) -> SearchParts:
    settings, database, embedder, model = base.settings, base.database, base.embedder, base.model
    chunks = chunk_sources(embedder, base.repository, PostgresChunkScoring(database, model=model))
    sources: dict[str, RetrievalSource] = {
        chunks.dense.name: chunks.dense,
        chunks.full_text.name: chunks.full_text,
        **collection_sources(settings, database, embedder, base.scan),
        GRAPH_FACTS: graph_source(settings, database, embedder, model),
        **({} if files.source is None else {GREP: files.source}),
        STRUCTURE: structure_source(settings, database),
        **parts.sources,
    }
    profiles = profiles_of(settings, model, extra_sources=tuple(parts.sources)) | dict(parts.profiles)
    # without a fusion by rank all searches are dense
    fusions: dict[FusionMethod, FusionService] = {}
    if parts.fusion is not None:
        fusions = {FusionMethod.RRF: parts.fusion, FusionMethod.LINEAR: LinearFusionService()}
    planner = SearchPlanner(profiles=profiles, methods=fusions.keys(), rules=_rules(settings))
    breaker = base.make_breaker()
    reranker = parts.reranker or make_reranker(settings)
    store = RoutedCandidateStore(
        default=PostgresCandidateStore(database, model=model), by_collection={FILES: files.candidates}
    )
    ranked = RankedSearch(
        fan_out=SourceFanOut(
            sources=sources, source_timeout_seconds=settings.source_timeout_seconds, breaker=breaker, joint=chunks
        ),
        repository=base.repository,
        store=store,
        pipeline=StepPipeline(
            store=store,
            reranker=None if reranker is None else base.closing(reranker),
            rerank_limits=RerankLimits(
                pool_size=settings.rerank_pool_size, timeout_seconds=settings.rerank_timeout_seconds
            ),
        ),
        highlighter=Highlighter(analyzer=PostgresTextAnalyzer(database=database)),
        fusions=fusions,
        profiles=profiles,
    )
    rollout, rollout_observers = _rollout(base, planner=planner, ranked=ranked)
    model_health = ModelHealth()
    return SearchParts(
        search=SearchChunks(
            planner=planner,
            ranked=ranked,
            hydrate=hydration.hydrate,
            rollout=rollout,
            observers=[model_health.search_ended],
        ),
        rollout_observers=rollout_observers,
        model_health=model_health,
        breaker_states=lambda: breaker.states(sources, now=asyncio.get_running_loop().time()),
        reranks=reranker is not None,
    )


def _rules(settings: Settings) -> SearchRules:
    return SearchRules(
        default_mode=SearchMode.HYBRID if settings.enable_hybrid_search else SearchMode.DENSE,
        default_method=settings.fusion_method,
        max_query_characters=settings.max_query_characters,
        max_filter_conditions=settings.max_filter_conditions,
        max_limit=settings.max_limit,
        total_timeout_seconds=settings.search_timeout_seconds,
    )


def _rollout(base: Base, *, planner: SearchPlanner, ranked: RankedSearch) -> tuple[RunningRollout, RolloutObservers]:
    """Return the roll-out of a new profile and its observers; the container cancels running shadows."""
    settings = base.settings
    rollout = planned_rollout(
        hybrid=settings.enable_hybrid_search,
        method=settings.fusion_method,
        shadow=settings.hybrid_shadow,
        percent=settings.hybrid_rollout_percent,
    )
    observers = RolloutObservers(rollout)
    limits = ShadowLimits(
        max_running=max(1, settings.database_pool_size // CONNECTIONS_PER_SHADOW),
        timeout_seconds=settings.search_timeout_seconds,
        compared=min(COMPARED, settings.max_limit),
    )
    shadow = base.closing(ShadowSearch(planner=planner, ranked=ranked, observers=observers, limits=limits))
    return RunningRollout(rollout=rollout, observers=observers, shadow=shadow), observers
