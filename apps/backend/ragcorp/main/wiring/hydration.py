"""Builds the hydration of episodes and the structure source."""

from dataclasses import dataclass

from ragcorp.application.hydration.hydrate import HydrateEpisode, HydrationOptions
from ragcorp.application.hydration.introspect import IntrospectHydration
from ragcorp.application.retrieval.sources.structure import StructureSource
from ragcorp.application.structure.anchor_lookup import AnchorLookup
from ragcorp.application.structure.anchors import AnchorOptions
from ragcorp.domain.structure.hydration import HydrationLimits
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.episodes.store import PostgresEpisodeStore
from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTermFrequencies
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.infrastructure.postgres.structure.index import PostgresStructureIndex
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.base import Base

DEFAULT_SIMILARITY = 0.7
"""For a model without a stored threshold: the design document's value, on OpenAI's scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HydrationParts:
    hydrate: HydrateEpisode
    introspect: IntrospectHydration
    episodes: PostgresEpisodeStore


def structure_source(settings: Settings, database: Database) -> StructureSource:
    """Return the source of profile code; the settings that disable anchors apply here too."""
    index = PostgresStructureIndex(database)
    anchors = AnchorLookup(
        index=index, episodes=None, frequencies=_frequencies(settings, database), options=_anchor_options(settings)
    )
    return StructureSource(index=index, anchors=anchors)


def make_hydration(base: Base) -> HydrationParts:
    """Return hydration and the store of episodes. Without vectors only anchors are hydrated."""
    settings, database = base.settings, base.database
    episodes = PostgresEpisodeStore(database=database)
    hydrate = HydrateEpisode(
        index=PostgresStructureIndex(database, scan=base.scan),
        episodes=episodes,
        embedder=base.embedder,
        keywords=base.repository,
        frequencies=_frequencies(settings, database),
        options=HydrationOptions(
            anchors=_anchor_options(settings),
            semantic=settings.enable_semantic_ranking,
            threshold=similarity_threshold(settings, base.model),
            limits=HydrationLimits(
                max_tokens=settings.hydration_max_tokens,
                max_entities=settings.hydration_max_entities,
                semantic_tokens=settings.semantic_budget_tokens,
                semantic_entities=settings.semantic_budget_entities,
            ),
            timeout_seconds=settings.search_timeout_seconds,
            semantic_timeout_seconds=settings.source_timeout_seconds,
        ),
        breaker=base.make_breaker(),
    )
    return HydrationParts(hydrate=hydrate, introspect=IntrospectHydration(episodes=episodes), episodes=episodes)


def similarity_threshold(settings: Settings, model: ActiveModel | None) -> float:
    """Return the setting, else the model's stored similarity, else the default."""
    stored = None if model is None else model.similarity_threshold
    return next(value for value in (settings.semantic_threshold, stored, DEFAULT_SIMILARITY) if value is not None)


def _anchor_options(settings: Settings) -> AnchorOptions:
    return AnchorOptions(
        file_mentions=settings.enable_file_mention_anchors,
        symbol_mentions=settings.enable_symbol_mention_anchors,
        previous=settings.enable_previous_hydration_anchors,
    )


def _frequencies(settings: Settings, database: Database) -> PostgresTermFrequencies:
    return PostgresTermFrequencies(database=database, default_language=settings.default_language)
