"""Ports that list passages and read pages, without a search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from ragcorp.domain.documents import Chunk, Page, UnreadPart
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal

ChunkPosition = tuple[str, int]
"""An artifact's external_id and a chunk index in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSelection:
    """Chunks of artifacts by prefix or ``artifact``, by ``filters``, and by overlap with ``lines`` (first, last)."""

    prefix: str = ""
    artifact: str | None = None
    filters: Filters = ()
    lines: tuple[int, int] | None = None


class ChunkCatalogue(Protocol):
    """Lists chunks of existing documents by external_id, in text order. Outages are a StorageUnavailableError."""

    async def list_page(
        self, selection: ChunkSelection, *, principal: Principal, limit: int, after: ChunkPosition | None = None
    ) -> Page[Chunk, ChunkPosition]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSpan:
    """Pages of a document, 1-based and inclusive."""

    document_id: UUID
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedText:
    """The text of a span of pages; ``starts`` are the character offsets in it at which each page begins."""

    text: str
    starts: tuple[int, ...]


class PageTexts(Protocol):
    """Reads pages of documents that are not deleted. Outages are a StorageUnavailableError."""

    async def read(self, spans: Sequence[PageSpan], *, principal: Principal) -> Mapping[PageSpan, PagedText]:
        """Return the spans that exist and that the principal may read."""


class UnreadParts(Protocol):
    """Reads what was not read of documents that are not deleted. Outages are a StorageUnavailableError."""

    async def read(
        self, document_ids: Sequence[UUID], *, principal: Principal
    ) -> Mapping[UUID, tuple[UnreadPart, ...]]:
        """Return the documents that have such parts and that the principal may read."""
