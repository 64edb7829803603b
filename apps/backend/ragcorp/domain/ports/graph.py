"""Ports of the knowledge graph: storage, search and extraction of facts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from ragcorp.domain.documents import Page, SaveOutcome
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.extraction import Extraction, ExtractionTask, ExtractorVersion
from ragcorp.domain.filters import Filters
from ragcorp.domain.graph import Entity, EntityDraft, Fact, FactDraft, GraphSelection
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import RankedList

Draft_contra = TypeVar("Draft_contra", EntityDraft, FactDraft, contravariant=True)


class GraphRepository(Protocol):
    """Entities and facts of one workspace at a time. Outages are a StorageUnavailableError.

    A fact is readable if it, both its entities and its document are. An undeclared entity, which only facts name, is
    readable if one of those facts is.
    """

    async def save_entities(self, drafts: Sequence[EntityDraft], *, principal: Principal) -> list[SaveOutcome]:
        """Create or replace the entities; equal ones stay unchanged. The failure of one stops no other."""

    async def get_entity(self, external_id: str, *, principal: Principal) -> Entity:
        """Raises NotFoundError."""

    async def list_entities(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Entity, str]: ...

    async def delete_entity(self, external_id: str, *, principal: Principal) -> None:
        """Delete an entity and its facts; with unreadable facts it stays, undeclared. Raises NotFoundError."""

    async def save_facts(self, drafts: Sequence[FactDraft], *, principal: Principal) -> list[SaveOutcome]:
        """As ``save_entities``. Unknown entities that a fact names are created, undeclared."""

    async def get_fact(self, external_id: str, *, principal: Principal) -> Fact:
        """Raises NotFoundError."""

    async def list_facts(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Fact, str]: ...

    async def delete_fact(self, external_id: str, *, principal: Principal) -> None:
        """Delete a fact, and its undeclared entities without another fact. Raises NotFoundError."""


class DraftSaving(Protocol[Draft_contra]):
    """Stores entities, or facts, in batches; a bad one is reported in its place."""

    async def save_many(self, drafts: Sequence[Draft_contra], *, principal: Principal) -> list[SaveOutcome]: ...


class GraphSearch(Protocol):
    """Finds facts around the entities of a query, in one round trip."""

    async def find_facts(
        self,
        query: str,
        embedding: Vector | None,
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        now: datetime | None = None,
    ) -> RankedList:
        """Return facts by score, then id, ended ones last among equals; without ``embedding`` by names only."""


class FactExtractor(Protocol):
    """Extracts facts from a text. Every failure and bad answer is an AnswererUnavailableError."""

    @property
    def version(self) -> ExtractorVersion: ...

    async def extract(self, *, title: str, text: str) -> Extraction:
        """Return the facts that ``text`` supports: it contains every name and quote."""

    async def aclose(self) -> None: ...


class ExtractionStore(Protocol):
    """Stores extracted facts by chunk. Outages are a StorageUnavailableError."""

    async def waiting(
        self, version: ExtractorVersion, *, principal: Principal, document: str | None, limit: int, after: int = 0
    ) -> list[ExtractionTask]:
        """Return unprocessed readable chunks by id, above ``after``. Raises NotFoundError for a ``document``."""

    async def count_waiting(self, version: ExtractorVersion, *, principal: Principal, document: str | None) -> int: ...

    async def store(
        self, task: ExtractionTask, extraction: Extraction, *, version: ExtractorVersion, principal: Principal
    ) -> int:
        """Replace the chunk's facts, which cite it and have its visibility; return their number, 0 if it is gone."""

    async def remove_stale(self, *, principal: Principal) -> int:
        """Delete extracted facts and cached extractions whose chunk is gone; return the number of facts."""
