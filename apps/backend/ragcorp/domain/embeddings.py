"""Values of vectors: models, caches and the backlog."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """The model of a vector, and its width."""

    name: str
    dimensions: int


Vector = tuple[float, ...]
"""An L2-normalised embedding of ``EmbeddingModel.dimensions`` finite numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogCounts:
    """The number of texts that wait for a vector, and how many of them failed too often to be retried."""

    pending: int
    failed: int


class CacheName(StrEnum):
    QUERY = "query"
    PASSAGE = "passage"


class CacheOutcome(StrEnum):
    """``JOINED``: shared the call of another caller. ``MISS``: the model computed the vector."""

    MEMORY = "memory"
    DATABASE = "database"
    JOINED = "joined"
    MISS = "miss"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedVectors:
    """Cached vectors of a model. ``bytes`` is the size of the vectors alone."""

    model: EmbeddingModel
    active: bool
    vectors: int
    bytes: int
    oldest_use: datetime | None
