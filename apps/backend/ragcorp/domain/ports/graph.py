"""Ports of the knowledge graph: what is stored, the search through it, and the model that extracts facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.extraction import Extraction, ExtractionTask, ExtractorVersion
from ragcorp.domain.filters import Filters
from ragcorp.domain.graph import (
    Entity,
    EntityDraft,
    EntityPage,
    Fact,
    FactDraft,
    FactPage,
    GraphFailure,
    GraphOutcome,
    GraphSelection,
)
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import RankedList


class GraphRepository(Protocol):
    """Entities and facts of one workspace at a time. Outages are a StorageUnavailableError.

    A fact is readable where it, both its entities and the document that it is from are. An entity that was never
    declared, only named by facts, is readable where one of those facts is.
    """

    async def save_entities(
        self, drafts: Sequence[EntityDraft], *, principal: Principal
    ) -> list[GraphOutcome | GraphFailure]:
        """Create or replace the entities; an equal one is left as it is. The failure of one stops no other."""
        ...

    async def get_entity(self, external_id: str, *, principal: Principal) -> Entity:
        """Raises NotFoundError."""
        ...

    async def list_entities(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> EntityPage: ...

    async def delete_entity(self, external_id: str, *, principal: Principal) -> None:
        """Remove an entity and its facts for good. Raises NotFoundError.

        Facts that the principal may not read stay, and so, undeclared and without its description, does the entity.
        """
        ...

    async def save_facts(
        self, drafts: Sequence[FactDraft], *, principal: Principal
    ) -> list[GraphOutcome | GraphFailure]:
        """Create or replace the facts; an equal one is left as it is. The failure of one stops no other.

        An entity that is named and not known is made, undeclared.
        """
        ...

    async def get_fact(self, external_id: str, *, principal: Principal) -> Fact:
        """Raises NotFoundError."""
        ...

    async def list_facts(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> FactPage: ...

    async def delete_fact(self, external_id: str, *, principal: Principal) -> None:
        """Remove a fact for good, and undeclared entities without any other. Raises NotFoundError."""
        ...


class EntitySaving(Protocol):
    """Stores entities in batches; a bad one is reported in its place."""

    async def save_many(
        self, drafts: Sequence[EntityDraft], *, principal: Principal
    ) -> list[GraphOutcome | GraphFailure]: ...


class FactSaving(Protocol):
    """Stores facts in batches; a bad one is reported in its place."""

    async def save_many(
        self, drafts: Sequence[FactDraft], *, principal: Principal
    ) -> list[GraphOutcome | GraphFailure]: ...


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
        """Return up to ``limit`` facts by score, then id; of equal scores those that are over at ``now`` come last.

        ``embedding`` None: entities are looked up by name alone.
        """
        ...


class FactExtractor(Protocol):
    """Extracts facts from a text. Every failure and bad answer is an AnswererUnavailableError."""

    @property
    def version(self) -> ExtractorVersion: ...

    async def extract(self, *, title: str, text: str) -> Extraction:
        """Return the facts that ``text`` bears out: every name and quote stands in it."""
        ...

    async def aclose(self) -> None: ...


class ExtractionStore(Protocol):
    """What was extracted from which chunk. Outages are a StorageUnavailableError."""

    async def waiting(
        self, version: ExtractorVersion, *, principal: Principal, document: str | None, limit: int, after: int = 0
    ) -> list[ExtractionTask]:
        """Return chunks that the principal may read and the extractor has not, by chunk id, behind ``after``.

        ``document`` is an external_id. Raises NotFoundError if there is no such document.
        """
        ...

    async def count_waiting(self, version: ExtractorVersion, *, principal: Principal, document: str | None) -> int: ...

    async def store(
        self, task: ExtractionTask, extraction: Extraction, *, version: ExtractorVersion, principal: Principal
    ) -> int:
        """Replace the facts that were extracted from the chunk; return how many stand now. 0 if the chunk is gone.

        They are cited to the chunk and as visible as its document.
        """
        ...

    async def remove_stale(self, *, principal: Principal) -> int:
        """Remove extracted facts whose chunk is gone, and what is kept of texts that are; return how many facts."""
        ...
