"""Values of GET /status."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ragcorp.domain.embeddings import BacklogCounts
from ragcorp.domain.recognition import RecognitionCounts


class PartState(StrEnum):
    """``degraded``: does a part of its work. ``out``: does none. ``off``: none is expected of it, by configuration."""

    OK = "ok"
    DEGRADED = "degraded"
    OUT = "out"
    OFF = "off"


class Overall(StrEnum):
    """``unavailable``: nothing can be found at the moment."""

    OK = "ok"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStatus:
    """A source or another component, with a stable word (``reason``), a sentence (``says``) and a ``remedy``."""

    source: str
    state: PartState = PartState.OK
    reason: str | None = None
    says: str | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentCounts:
    """Counts of what a principal may read; ``waiting`` by kind, such as ``artifact_chunks`` or ``memory``.

    ``recognition``: scanned pages of the documents. ``statistics_are_stale``: the workspace's document frequencies are
    of an earlier state of its chunks.
    """

    documents: int
    deleted_documents: int
    chunks: int
    memories: int
    turns: int
    entities: int
    facts: int
    waiting: Mapping[str, BacklogCounts]
    recognition: RecognitionCounts
    statistics_are_stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """An effective setting by the name of its variable. ``value`` is None if unset."""

    name: str
    value: str | None
    is_default: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """``counts`` is None if counting timed out. ``model`` is the embedding model's name, if any."""

    overall: Overall
    version: str
    parts: tuple[PartStatus, ...]
    counts: ContentCounts | None
    model: str | None
    flags: tuple[Flag, ...]
