"""Builds the search: sources, profiles, ranking, hydration and roll-out."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ragcorp.application.retrieval.rollout.assignment import RolloutObservers
from ragcorp.application.retrieval.search_chunks import SearchChunks
from ragcorp.application.status.model_health import ModelHealth
from ragcorp.domain.search.sources import GRAPH_FACTS, GREP, STRUCTURE
from ragcorp.infrastructure.postgres.collections.candidate_store import PostgresCandidateStore
from ragcorp.infrastructure.postgres.documents.scoring import PostgresChunkScoring
from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTextAnalyzer
from ragcorp.main.wiring.base import Base, Parts
from ragcorp.main.wiring.files import FileParts
from ragcorp.main.wiring.graph import graph_source
from ragcorp.main.wiring.hydration import HydrationParts, structure_source
from ragcorp.main.wiring.models import make_reranker
from ragcorp.main.wiring.retrieval import (
    chunk_sources,
    collection_sources,
    make_breaker,
    make_fusions,
    make_planner,
    make_ranked_search,
    profiles_of,
)
from ragcorp.main.wiring.rollout import make_rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchParts:
    """The search, and what metrics and status report about it."""

    search: SearchChunks
    profiles: tuple[str, ...]
    rollout_observers: RolloutObservers
    model_health: ModelHealth
    breaker_states: Callable[[], Mapping[str, str]]
    reranks: bool


def make_search(base: Base, parts: Parts, *, files: FileParts, hydration: HydrationParts) -> SearchParts:
    settings, database, embedder, model = base.settings, base.database, base.embedder, base.model
    sources = {
        **chunk_sources(embedder, base.repository, PostgresChunkScoring(database, model=model)),
        **collection_sources(settings, database, embedder, base.scan),
        GRAPH_FACTS: graph_source(settings, database, embedder, model),
        **({} if files.source is None else {GREP: files.source}),
        STRUCTURE: structure_source(settings, database),
        **parts.sources,
    }
    profiles = profiles_of(settings, model, extra_sources=tuple(parts.sources)) | dict(parts.profiles)
    fusions = make_fusions(parts.fusion)
    planner = make_planner(settings, profiles, fusions)
    breaker = make_breaker(settings)
    reranker = parts.reranker or make_reranker(settings)
    ranked = make_ranked_search(
        settings,
        sources=sources,
        breaker=breaker,
        profiles=profiles,
        repository=base.repository,
        store=files.stored_with(PostgresCandidateStore(database, model=model)),
        fusions=fusions,
        reranker=None if reranker is None else base.closing(reranker),
        analyzer=PostgresTextAnalyzer(database=database),
    )
    rollout, rollout_observers = make_rollout(settings, base.stack, planner=planner, ranked=ranked)
    model_health = ModelHealth()
    return SearchParts(
        search=SearchChunks(
            planner=planner,
            ranked=ranked,
            hydrate=hydration.hydrate,
            rollout=rollout,
            observers=[model_health.search_ended],
        ),
        profiles=tuple(profiles),
        rollout_observers=rollout_observers,
        model_health=model_health,
        breaker_states=lambda: breaker.states(sources, now=asyncio.get_running_loop().time()),
        reranks=reranker is not None,
    )
