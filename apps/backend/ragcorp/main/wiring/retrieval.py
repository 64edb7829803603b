"""Builds the sources and the profiles of searches."""

from collections.abc import Mapping

from ragcorp.application.retrieval.profiles.profile import LINEAR_WEIGHTS, RetrievalProfile
from ragcorp.application.retrieval.profiles.standard import DEFAULT_DISTANCE, ProfileParameters, standard_profiles
from ragcorp.application.retrieval.sources.chunks import DenseChunkSource, FullTextChunkSource, JointChunkSources
from ragcorp.application.retrieval.sources.collections import CollectionDenseSource, CollectionFullTextSource
from ragcorp.application.retrieval.steps.diversification import Diversification
from ragcorp.application.retrieval.steps.temporal_decay import TemporalDecay
from ragcorp.domain.collections import Collection
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.filters import DOCUMENT_FIELDS, ITEM_FIELDS
from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.ports.sources import RetrievalSource
from ragcorp.domain.ports.storage import ChunkScoring
from ragcorp.domain.search.sources import DENSE, FULL_TEXT, IDENTIFIERS, OWN_LISTS
from ragcorp.infrastructure.postgres.collections.channels import PostgresCollectionChannels
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense.search import VectorScan
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.infrastructure.postgres.tables.collections import TABLES
from ragcorp.main.settings.schema import Settings

FILTER_FIELDS = {Collection.ARTIFACTS: DOCUMENT_FIELDS, Collection.MEMORY: ITEM_FIELDS, Collection.HISTORY: ITEM_FIELDS}


def require_free_names(sources: Mapping[str, RetrievalSource]) -> None:
    """Raise ConfigurationError if a custom source has the name of a built-in list."""
    if duplicates := sources.keys() & OWN_LISTS:
        raise ConfigurationError(
            f"A source of your own is called {', '.join(sorted(duplicates))}, as one of ours is.",
            field="sources",
            remedy="Give it a name of its own.",
        )


def chunk_sources(
    embedder: Embedder, repository: PostgresDocumentRepository, scoring: ChunkScoring
) -> JointChunkSources:
    return JointChunkSources(
        dense=DenseChunkSource(embedder=embedder, repository=repository, scoring=scoring),
        full_text=FullTextChunkSource(repository=repository, scoring=scoring),
        chunks=repository,
    )


def collection_sources(
    settings: Settings, database: Database, embedder: Embedder, scan: VectorScan
) -> dict[str, RetrievalSource]:
    """Return the dense and the full-text source of each collection other than the chunks, by name."""
    sources: dict[str, RetrievalSource] = {}
    for collection, fields in FILTER_FIELDS.items():
        channels = PostgresCollectionChannels(
            database,
            table=TABLES[collection],
            scan=scan,
            default_language=settings.default_language,
            budget=settings.sparse_budget,
        )
        dense, full_text = f"{collection}.{DENSE}", f"{collection}.{FULL_TEXT}"
        sources[dense] = CollectionDenseSource(
            name=dense, collection=collection, embedder=embedder, channels=channels, filter_fields=fields
        )
        sources[full_text] = CollectionFullTextSource(
            name=full_text, collection=collection, channels=channels, filter_fields=fields
        )
    return sources


def profiles_of(
    settings: Settings, model: ActiveModel | None, *, extra_sources: tuple[str, ...]
) -> dict[str, RetrievalProfile]:
    """Return the standard profiles with the parameters of the settings."""
    return standard_profiles(
        ProfileParameters(
            rank_constant=settings.rrf_k,
            rank_window_size=settings.rank_window_size,
            linear_weights=linear_weights(model),
            extra_sources=extra_sources,
            overfetch_multiplier=settings.overfetch_multiplier,
            decay=TemporalDecay(
                half_life_days=settings.temporal_decay_half_life_days, evergreen_floor=settings.evergreen_floor
            ),
            diversification=Diversification(trade_off=settings.mmr_lambda, pool_size=settings.mmr_candidate_pool_size),
            lookback_hours=settings.default_lookback_hours,
            vector_score_threshold=distance_threshold(settings, model),
        )
    )


def distance_threshold(settings: Settings, model: ActiveModel | None) -> float:
    """Return the setting, else the model's stored distance, else the default."""
    stored = None if model is None else model.distance_threshold
    return next(value for value in (settings.vector_score_threshold, stored, DEFAULT_DISTANCE) if value is not None)


def linear_weights(model: ActiveModel | None) -> dict[str, float]:
    """Return the weights of linear fusion: those stored with the model, else the measured defaults."""
    stored = {} if model is None else {FULL_TEXT: model.evidence_weight, IDENTIFIERS: model.identifier_weight}
    return {**LINEAR_WEIGHTS, **{name: weight for name, weight in stored.items() if weight is not None}}
