"""What the service says of itself to one caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


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
    """A source, or what stands beside the sources. Unless it is ``ok``, ``reason`` is a short stable word for why.

    ``says`` is a whole sentence for people, ``remedy`` what can be done.
    """

    source: str
    state: PartState = PartState.OK
    reason: str | None = None
    says: str | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How many texts lack a vector, and of how many of these it was given up."""

    pending: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentCounts:
    """What one principal may read of its workspace. ``chunks`` are those of documents that are not deleted.

    ``waiting`` is by what waits: ``artifact_chunks``, ``memory``, ``history``, ``graph`` and ``structure``.
    """

    documents: int
    deleted_documents: int
    chunks: int
    memories: int
    turns: int
    entities: int
    facts: int
    waiting: Mapping[str, Waiting]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A setting in force, by the name of its variable. ``value`` is None where it is unset."""

    name: str
    value: str | None
    is_default: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """``counts`` is None where they could not be had in time. ``model`` is the embedding model's name, if any."""

    overall: Overall
    version: str
    parts: tuple[PartStatus, ...]
    counts: ContentCounts | None
    model: str | None
    flags: tuple[Flag, ...]
