"""Values of retrieval: hits, ranked lists, fused hits and source reports."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import repeat
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeVar, overload
from uuid import UUID

from ragcorp.domain.exceptions import InvalidRankingError

Entry = TypeVar("Entry")

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


class _HitFields(NamedTuple):
    chunk_id: str | None
    document_id: UUID | None
    chunk_index: int | None
    item_id: str | None
    collection: str
    score: float
    evidence: float | None
    metadata: Mapping[str, object]


class Hit(_HitFields):
    """One passage of a source's list: its identity and the source's score (higher is better), no content.

    The identity is the chunk id, else (document id, chunk index) (ADR-012); outside the collection of chunks it is
    ``item_id`` in ``collection``. ``evidence`` is the passage's share in [0, 1] of the query's evidence, if the source
    provides it. Types are checked because sources may be custom. Raises InvalidRankingError.
    """

    __slots__ = ()

    def __new__(
        cls,
        *,
        chunk_id: str | None = None,
        document_id: UUID | None = None,
        chunk_index: int | None = None,
        item_id: str | None = None,
        collection: str = CHUNK_COLLECTION,
        score: float,
        evidence: float | None = None,
        metadata: Mapping[str, object] = _EMPTY,
    ) -> Self:
        hit = cls._make((chunk_id, document_id, chunk_index, item_id, collection, score, evidence, metadata))
        _require_identity(hit)
        if type(score) is not float:
            _require_number(score)
        if not -_MAX_FLOAT <= score <= _MAX_FLOAT:  # false for nan too; an int may be too large for isfinite
            raise InvalidRankingError("A hit's score must be finite.", field="score")
        if evidence is not None and not (type(evidence) is float and 0 <= evidence <= 1):
            raise InvalidRankingError("A hit's evidence is a float.", field="evidence", limit="0 to 1")
        if not isinstance(metadata, Mapping):
            raise InvalidRankingError("A hit's metadata must be a mapping.", field="metadata")
        return hit

    @property
    def key(self) -> HitKey:
        if self.item_id is not None:
            return (self.item_id, self.collection, 0)
        if self.chunk_id is not None:
            return (self.chunk_id, "", 0)
        return ("", str(self.document_id), self.chunk_index or 0)


def chunk_hits(
    chunk_ids: Iterable[object], scores: Iterable[float], evidence: Iterable[float | None] = repeat(None)
) -> tuple[Hit, ...]:
    """Return the hits of stored chunks, unchecked and without a Python call for each: a search makes hundreds."""
    fields = zip(
        map(str, chunk_ids),
        repeat(None),
        repeat(None),
        repeat(None),
        repeat(CHUNK_COLLECTION),
        scores,
        evidence,
        repeat(_EMPTY),
        strict=False,
    )
    return tuple(map(_UNCHECKED_HIT, fields))


_UNCHECKED_HIT: Callable[[Iterable[object]], Hit] = partial(tuple.__new__, Hit)


def _require_identity(hit: Hit) -> None:
    if hit.item_id is not None or hit.collection != CHUNK_COLLECTION:
        _require_item(hit)
    elif hit.chunk_id is None:
        if hit.document_id is None or hit.chunk_index is None:
            raise InvalidRankingError("A hit needs a chunk id, or a document id with a chunk index.", field="hit")
    elif not (isinstance(hit.chunk_id, str) and hit.chunk_id):
        raise InvalidRankingError("A hit's chunk id must be a string that is not empty.", field="chunk_id")
    if hit.document_id is not None and not isinstance(hit.document_id, UUID):
        raise InvalidRankingError("A hit's document id must be a UUID.", field="document_id")
    if hit.chunk_index is not None:
        _require_chunk_index(hit.chunk_index)


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

    def with_hits(self, hits: tuple[Hit, ...], *, source: str | None = None) -> Self:
        """Return this list with some of its hits, or with hits of stored rows: unchecked."""
        made = object.__new__(type(self))
        object.__setattr__(made, "source", source or self.source)
        object.__setattr__(made, "score_type", self.score_type)
        object.__setattr__(made, "hits", hits)
        return made

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


class FusedHits(Sequence[FusedHit]):
    """Fused hits, best first, each made when it is read: a page needs ten of hundreds.

    ``entries`` are whatever ``make`` turns into a hit.
    """

    __slots__ = ("_entries", "_make")

    def __init__(self, entries: Sequence[Entry], make: Callable[[Entry], FusedHit]) -> None:
        self._entries: Sequence[Any] = entries
        self._make: Callable[[Any], FusedHit] = make

    @overload
    def __getitem__(self, index: int) -> FusedHit: ...
    @overload
    def __getitem__(self, index: slice) -> "FusedHits": ...
    def __getitem__(self, index: int | slice) -> "FusedHit | FusedHits":
        chosen = self._entries[index]
        return FusedHits(chosen, self._make) if isinstance(index, slice) else self._make(chosen)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[FusedHit]:
        return map(self._make, self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


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
