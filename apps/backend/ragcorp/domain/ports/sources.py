"""The port that every retrieval source implements, and the port of fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ragcorp.domain.exceptions import InvalidRankingError
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
    Raises InvalidRankingError.
    """

    ranked_list: RankedList
    incomplete: str | None = None
    seen: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.ranked_list, RankedList):
            raise InvalidRankingError("A source's answer holds a ranked list.", field="ranked_list")
        if self.incomplete is not None and not (isinstance(self.incomplete, str) and self.incomplete):
            raise InvalidRankingError("What makes an answer incomplete is a short word.", field="incomplete")
        if not isinstance(self.seen, float | int) or not 0 <= self.seen <= 1:
            raise InvalidRankingError("The share that a source saw is a number.", field="seen", limit="0 to 1")


class RetrievalSource(Protocol):
    """One way of finding passages. A source that is out raises SourceUnavailableError.

    At its deadline a source is cancelled and waited for no longer. Whatever else it raises is its own ``error``; the
    query goes on.
    """

    @property
    def name(self) -> str: ...

    async def retrieve(self, query: SourceQuery) -> SourceAnswer: ...


class FusionService(Protocol):
    """Makes one ranking of several. Pure: the same lists give the same ranking to the last bit."""

    def fuse(
        self, lists: Sequence[RankedList], *, weights: Mapping[str, float] | None = None, k: int | None = None
    ) -> tuple[FusedHit, ...]: ...
