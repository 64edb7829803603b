"""The port that every retrieval source implements, and the port of fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import FusedHit, RankedList
from ragcorp.domain.search import Filters


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQuery:
    """What every source is asked: up to ``limit`` hits for ``text`` that pass the filters and the principal."""

    text: str
    principal: Principal
    filters: Filters
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAnswer:
    """A source's hits; ``incomplete`` says in a short word why some evidence could not be seen, if so.

    ``seen`` is the share in [0, 1] of its evidence that the source could see: ranks among few say little.
    """

    ranked_list: RankedList
    incomplete: str | None = None
    seen: float = 1.0


class RetrievalSource(Protocol):
    """One way of finding passages. A source that is out raises SourceUnavailableError."""

    @property
    def name(self) -> str: ...

    async def retrieve(self, query: SourceQuery) -> SourceAnswer: ...


class FusionService(Protocol):
    """Makes one ranking of several. Pure: the same lists give the same ranking to the last bit."""

    def fuse(
        self, lists: Sequence[RankedList], *, weights: Mapping[str, float] | None = None, k: int | None = None
    ) -> tuple[FusedHit, ...]: ...
