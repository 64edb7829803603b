"""Values of retrieval: hits, ranked lists, fused hits and source reports."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from ragcorp.domain.exceptions import InvalidRankingError

_MAX_FLOAT = sys.float_info.max
_EMPTY: Mapping[str, object] = MappingProxyType({})


def no_metadata() -> Mapping[str, object]:
    """Return the one empty mapping: frozen values share it."""
    return _EMPTY


HitKey = tuple[str, str, int]
"""Canonical identity of a hit; comparable, so that it can break ties."""


MAX_CHUNK_INDEX = 2**31 - 1

CHUNK_COLLECTION = "artifact_chunks"


class ScoreType(StrEnum):
    COSINE_SIMILARITY = "cosine_similarity"
    COSINE_DISTANCE = "cosine_distance"
    HALF_CENTRED_COSINE = "half_centred_cosine"
    TS_RANK_CD = "ts_rank_cd"
    BM25 = "bm25"
    EVIDENCE_SHARE = "evidence_share"
    IDENTIFIER_MATCH = "identifier_match"
    RRF = "rrf"
    LINEAR = "linear"
    GRAPH = "graph"
    GREP = "grep"
    ANCHOR = "anchor"
    DECAYED = "decayed"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One passage of a source's list: its identity and the source's score (higher is better), no content.

    The identity is the chunk id, else (document id, chunk index) (ADR-012); outside the collection of chunks it is
    ``item_id`` in ``collection``. ``evidence`` is the passage's share in [0, 1] of the query's evidence, if the source
    provides it. Types are checked because sources may be custom. Raises InvalidRankingError.
    """

    chunk_id: str | None = None
    document_id: UUID | None = None
    chunk_index: int | None = None
    item_id: str | None = None
    collection: str = CHUNK_COLLECTION
    score: float
    evidence: float | None = None
    metadata: Mapping[str, object] = field(default_factory=no_metadata)

    def __post_init__(self) -> None:
        if self.item_id is not None or self.collection != CHUNK_COLLECTION:
            _require_item(self)
        elif self.chunk_id is None:
            if self.document_id is None or self.chunk_index is None:
                raise InvalidRankingError("A hit needs a chunk id, or a document id with a chunk index.", field="hit")
        elif not (isinstance(self.chunk_id, str) and self.chunk_id):
            raise InvalidRankingError("A hit's chunk id must be a string that is not empty.", field="chunk_id")
        if self.document_id is not None and not isinstance(self.document_id, UUID):
            raise InvalidRankingError("A hit's document id must be a UUID.", field="document_id")
        if self.chunk_index is not None:
            _require_chunk_index(self.chunk_index)
        if type(self.score) is not float:
            _require_number(self.score)
        if not -_MAX_FLOAT <= self.score <= _MAX_FLOAT:  # false for nan too; an int may be too large for isfinite
            raise InvalidRankingError("A hit's score must be finite.", field="score")
        if self.evidence is not None and not (type(self.evidence) is float and 0 <= self.evidence <= 1):
            raise InvalidRankingError("A hit's evidence is a float.", field="evidence", limit="0 to 1")
        if self.metadata is not _EMPTY and not isinstance(self.metadata, Mapping):
            raise InvalidRankingError("A hit's metadata must be a mapping.", field="metadata")

    @property
    def key(self) -> HitKey:
        if self.item_id is not None:
            return (self.item_id, self.collection, 0)
        if self.chunk_id is not None:
            return (self.chunk_id, "", 0)
        return ("", str(self.document_id), self.chunk_index or 0)


def _require_item(hit: Hit) -> None:
    named = all(isinstance(name, str) and name for name in (hit.item_id, hit.collection))
    if not named or hit.collection == CHUNK_COLLECTION or hit.chunk_id is not None:
        raise InvalidRankingError(
            "A hit of another collection than that of chunks has an item id and no chunk id.", field="item_id"
        )


def _require_number(score: float) -> None:
    if not isinstance(score, (float, int)) or isinstance(score, bool):
        raise InvalidRankingError("A hit's score must be a float or an int.", field="score")


def _require_chunk_index(index: int) -> None:
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index <= MAX_CHUNK_INDEX:
        raise InvalidRankingError(
            "A hit's chunk index must be an integer from 0 up.", field="chunk_index", limit=f"0 to {MAX_CHUNK_INDEX}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedList:
    """Hits of one source, best first; ``hits[i]`` has rank i + 1. Raises InvalidRankingError for duplicates."""

    source: str
    score_type: str
    hits: tuple[Hit, ...] = ()

    def __post_init__(self) -> None:
        if not (isinstance(self.source, str) and self.source):
            raise InvalidRankingError("A ranked list needs the name of its source.", field="source")
        if not (isinstance(self.score_type, str) and self.score_type):
            raise InvalidRankingError("A ranked list needs the name of its kind of score.", field="score_type")
        if not isinstance(self.hits, tuple) or not all(isinstance(hit, Hit) for hit in self.hits):
            raise InvalidRankingError("A ranked list contains a tuple of hits.", field="hits")
        if len({hit.key for hit in self.hits}) != len(self.hits):
            raise InvalidRankingError(
                f"The ranked list of source '{self.source}' contains a hit twice.",
                field="hits",
                remedy="Deduplicate inside the source, before the list is made.",
            )

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


class Contribution(NamedTuple):
    """A source's part of a fused score. A tuple: fusion makes hundreds, in half the time of a dataclass
    (benchmarks.md).
    """

    source: str
    rank: int
    score: float
    score_type: str
    weight: float
    value: float


class FusedHit(NamedTuple):
    """A hit after fusion. ``score`` is ``math.fsum`` of the contributions' values."""

    hit: Hit
    score: float
    contributions: tuple[Contribution, ...]


class SourceOutcome(StrEnum):
    OK = "ok"
    EMPTY = "empty"
    FAILED = "failed"
    TIMEOUT = "timeout"
    INVALID = "invalid"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """Outcome of a source in a query; a ``reason`` puts it into ``degraded``. ``cut``: a budget ended it early."""

    source: str
    outcome: SourceOutcome
    elapsed_ms: float
    reason: str | None = None
    hits: int = 0
    cut: bool = False

    @property
    def answered(self) -> bool:
        return self.outcome in (SourceOutcome.OK, SourceOutcome.EMPTY)
