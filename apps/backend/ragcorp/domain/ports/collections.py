"""Ports of the collections: their items, their channels, and what the steps after fusion read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from ragcorp.domain.collections import Facets, Item, ItemDraft, ItemOutcome, ItemPage, ItemSelection
from ragcorp.domain.documents import Chunk
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import HitKey, RankedList
from ragcorp.domain.search.candidates import Description, Features


class ItemRepository(Protocol):
    """The items of one collection (memory or history). Outages are a StorageUnavailableError."""

    async def save_many(self, drafts: Sequence[ItemDraft], *, principal: Principal) -> list[ItemOutcome]:
        """Create or replace the items, all in one transaction; an equal item is left as it is.

        Of two drafts with one ``external_id`` the later stands. Raises ConflictError if one of them exists and the
        principal may not read it. A name that is made is never taken, nor does it tell anybody what it is made of.
        """
        ...

    async def change(
        self, external_id: str, change: Callable[[Item], ItemDraft], *, principal: Principal
    ) -> ItemOutcome:
        """Replace the item by what ``change``, a pure function, makes of it: read and written under one lock.

        Raises NotFoundError, and what ``change`` raises.
        """
        ...

    async def get(self, external_id: str, *, principal: Principal) -> Item:
        """Raises NotFoundError."""
        ...

    async def list_page(
        self, selection: ItemSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> ItemPage: ...

    async def latest_of_conversation(self, session: str, *, principal: Principal, limit: int) -> list[Item]:
        """Return the principal's own last private items of a session, oldest first (by occurred_at, then id).

        What is private was stored by its owner. Anybody may give an item that others read any session.
        """
        ...

    async def delete_one(self, external_id: str, *, principal: Principal) -> None:
        """Remove an item for good. Raises NotFoundError."""
        ...

    async def delete(self, selection: ItemSelection, *, principal: Principal) -> int:
        """Remove the selected items for good; return how many."""
        ...


class CollectionChannels(Protocol):
    """The dense and the sparse channel of one collection, one round trip each."""

    async def similar(self, embedding: Vector, *, principal: Principal, filters: Filters, limit: int) -> SimilarChunks:
        """Return up to ``limit`` items by cosine similarity, best first, ties by key."""
        ...

    async def matching(
        self, query: str, *, principal: Principal, filters: Filters, limit: int, since: datetime | None = None
    ) -> tuple[RankedList, bool]:
        """Return up to ``limit`` items by BM25 over what the principal may read, and whether a budget cut the look.

        ``since``: only what occurred at that moment or later.
        """
        ...


class CandidateStore(Protocol):
    """Reads stored passages of every collection by key. What the principal may not read is not there."""

    async def describe(
        self, keys: Sequence[HitKey], *, principal: Principal, filters: Filters = ()
    ) -> dict[HitKey, Description]:
        """Return what passes the filters; of a collection that lacks a field of theirs, nothing. One round trip."""
        ...

    async def features(self, keys: Sequence[HitKey], *, principal: Principal) -> Features:
        """One round trip; meant for a pool of some twenty."""
        ...

    async def read(self, keys: Sequence[HitKey], *, principal: Principal) -> dict[HitKey, Chunk]:
        """Return the content, one round trip. Of a whole artifact, its opening."""
        ...

    async def neighbours(
        self, centres: Sequence[tuple[UUID, int]], *, distance: int, principal: Principal
    ) -> dict[tuple[UUID, int], Chunk]:
        """Return the chunks up to ``distance`` from those at (document id, chunk index), in one statement."""
        ...


class FacetCounts(Protocol):
    """Counts what a caller may read."""

    async def count(self, *, principal: Principal, filters: Filters = ()) -> Facets:
        """Raises StorageUnavailableError, with reason ``timeout`` where it takes too long."""
        ...


class Reranker(Protocol):
    """Scores passages for a query, higher is better. Every failure is a SourceUnavailableError."""

    @property
    def name(self) -> str: ...

    async def scores(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Return one finite score for each passage, in order."""
        ...

    async def aclose(self) -> None: ...
