"""Ports of the collections: items, search channels, and the candidates that the steps after fusion read."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from ragcorp.domain.collections import Facets, Item, ItemDraft, ItemSelection
from ragcorp.domain.documents import Chunk, Page, WriteOutcome
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import HitKey, RankedList
from ragcorp.domain.search.candidates import Description, Features


class ItemRepository(Protocol):
    """The items of one collection (memory or history). Outages are a StorageUnavailableError."""

    async def save_many(self, drafts: Sequence[ItemDraft], *, principal: Principal) -> list[WriteOutcome]:
        r"""Create or replace items in one transaction; the last draft of a name wins.

        Raises ConflictError for an item that the principal may not read. Generated names are free and reveal no
        content.
        """

    async def change(
        self, external_id: str, change: Callable[[Item], ItemDraft], *, principal: Principal
    ) -> WriteOutcome:
        """Replace the item by ``change(item)``, pure, under one lock. Raises NotFoundError, and its errors."""

    async def get(self, external_id: str, *, principal: Principal) -> Item:
        """Raises NotFoundError."""

    async def list_page(
        self, selection: ItemSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Item, str]:
        """Return items in the order of ``external_id``, from above the name ``after``."""

    async def latest_of_conversation(self, session: str, *, principal: Principal, limit: int) -> list[Item]:
        """Return the principal's own last private items of a session, oldest first (by occurred_at, then id).

        Only private items are certain to be stored by their owner: any writer may choose the session of a shared item.
        """

    async def delete_one(self, external_id: str, *, principal: Principal) -> None:
        """Delete an item. Raises NotFoundError."""

    async def delete(self, selection: ItemSelection, *, principal: Principal) -> int:
        """Delete the selected items; return their number."""


class CollectionChannels(Protocol):
    """The dense and the sparse channel of one collection, one round trip each."""

    async def similar(self, embedding: Vector, *, principal: Principal, filters: Filters, limit: int) -> SimilarChunks:
        """Return up to ``limit`` items by cosine similarity, best first, ties by key."""

    async def matching(
        self, query: str, *, principal: Principal, filters: Filters, limit: int, since: datetime | None = None
    ) -> tuple[RankedList, bool]:
        """Return up to ``limit`` items by BM25, none from before ``since``, and whether a budget cut the search."""


class CandidateStore(Protocol):
    """Reads passages of every collection by key. Passages that the principal may not read are left out."""

    async def describe(
        self, keys: Sequence[HitKey], *, principal: Principal, filters: Filters = ()
    ) -> dict[HitKey, Description]:
        """Return the candidates that pass the filters, in one round trip; a lacking field lets none pass."""

    async def features(self, keys: Sequence[HitKey], *, principal: Principal) -> Features:
        """Return cosines and lexemes for diversification, in one round trip; for some twenty candidates."""

    async def read(self, keys: Sequence[HitKey], *, principal: Principal) -> dict[HitKey, Chunk]:
        """Return the passages, in one round trip; of a whole artifact, its beginning."""

    async def neighbours(
        self, centres: Sequence[tuple[UUID, int]], *, distance: int, principal: Principal
    ) -> dict[tuple[UUID, int], Chunk]:
        """Return the chunks up to ``distance`` from those at (document id, chunk index), in one statement."""


class FacetCounts(Protocol):
    """Counts the readable passages by facet."""

    async def count(self, *, principal: Principal, filters: Filters = ()) -> Facets:
        """Raises StorageUnavailableError, with reason ``timeout`` if the count takes too long."""


class Reranker(Protocol):
    """Scores passages for a query, higher is better. Every failure is a SourceUnavailableError."""

    @property
    def name(self) -> str: ...

    async def scores(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Return one finite score for each passage, in order."""

    async def aclose(self) -> None: ...
