"""Values of vectors: models, caches and the backlog."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """Which model made a vector, and its width (number of dimensions)."""

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
    """``JOINED``: another was asking for it already, and the call was shared. ``MISS``: it was put to the model."""

    MEMORY = "memory"
    DATABASE = "database"
    JOINED = "joined"
    MISS = "miss"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedVectors:
    """What the database keeps of a model's vectors. ``bytes`` is the size of the vectors by themselves."""

    model: EmbeddingModel
    active: bool
    vectors: int
    bytes: int
    oldest_use: datetime | None
