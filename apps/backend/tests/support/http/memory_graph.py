"""The port GraphRepository in memory, for one caller, and the use cases over it, which are the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

from ragcorp.application.graph.delete import DeleteFromGraph
from ragcorp.application.graph.extract_facts import ExtractFacts
from ragcorp.application.graph.load import LoadGraph
from ragcorp.application.graph.read import ReadGraph
from ragcorp.application.graph.save import SaveDrafts
from ragcorp.domain.documents import DocumentAttributes, IngestStatus
from ragcorp.domain.exceptions import InvalidInputError, NotFoundError
from ragcorp.domain.extraction import Extraction, ExtractionTask, ExtractorVersion
from ragcorp.domain.graph import (
    ENTITY,
    Entity,
    EntityDraft,
    EntityPage,
    EntityReference,
    Fact,
    FactDraft,
    FactEnd,
    FactPage,
    GraphFailure,
    GraphOutcome,
    GraphSelection,
    Readers,
    fact_name,
)
from ragcorp.domain.principal import Principal
from ragcorp.interface.use_cases import GraphUseCases
from support.http.memory_repository import Fault

Stored = TypeVar("Stored", Entity, Fact)

STORED_AT = datetime(2026, 3, 1, tzinfo=UTC)


class InMemoryGraph:
    """Everything is readable, and nothing is found by alias."""

    def __init__(self) -> None:
        self.fault = Fault()
        self.stored_entities: dict[str, Entity] = {}
        self.stored_facts: dict[str, Fact] = {}

    def use_cases(self) -> GraphUseCases:
        entities, facts = SaveDrafts[EntityDraft](save=self.save_entities), SaveDrafts[FactDraft](save=self.save_facts)
        return GraphUseCases(
            save_entities=entities,
            save_facts=facts,
            read=ReadGraph(repository=self),
            delete=DeleteFromGraph(repository=self),
            load=LoadGraph(entities=entities, facts=facts, default_language="es"),
            extract=ExtractFacts(extractor=None, store=NothingWaits()),
        )

    async def save_entities(
        self, drafts: Sequence[EntityDraft], *, principal: Principal
    ) -> list[GraphOutcome | GraphFailure]:
        await self.fault.strike()
        return [self._save(draft) for draft in drafts]

    def _save(self, draft: EntityDraft, *, declared: bool = True) -> GraphOutcome:
        name = draft.external_id or _usual(draft.attributes.artifact_type, draft.name)
        known = self.stored_entities.get(name)
        now = Entity(
            id="1",
            external_id=name,
            name=draft.name,
            aliases=draft.aliases,
            description=draft.description,
            attributes=draft.attributes,
            declared=declared,
            pending=True,
            created_at=STORED_AT,
            updated_at=STORED_AT,
        )
        self.stored_entities[name] = now
        return GraphOutcome(external_id=name, status=_status(known, now))

    async def get_entity(self, external_id: str, *, principal: Principal) -> Entity:
        await self.fault.strike()
        return _one(self.stored_entities, external_id, "entity")

    async def list_entities(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> EntityPage:
        await self.fault.strike()
        names = [
            name
            for name, entity in sorted(self.stored_entities.items())
            if name.startswith(selection.prefix)
            and name > (after or "")
            and (selection.name is None or entity.name.casefold() == selection.name.casefold())
        ]
        page = tuple(self.stored_entities[name] for name in names[:limit])
        return EntityPage(entities=page, next_after=page[-1].external_id if len(names) > limit else None)

    async def delete_entity(self, external_id: str, *, principal: Principal) -> None:
        await self.fault.strike()
        _one(self.stored_entities, external_id, "entity")
        del self.stored_entities[external_id]

    async def save_facts(
        self, drafts: Sequence[FactDraft], *, principal: Principal
    ) -> list[GraphOutcome | GraphFailure]:
        await self.fault.strike()
        return [self._save_fact(draft) for draft in drafts]

    def _save_fact(self, draft: FactDraft) -> GraphOutcome | GraphFailure:
        try:
            subject, target = self._end(draft.subject), self._end(draft.object)
        except InvalidInputError as error:
            return GraphFailure(error=error)
        name = draft.external_id or fact_name(
            subject=subject.external_id,
            predicate=draft.predicate,
            object=target.external_id,
            valid_from=draft.valid_from,
            document_id=None,
            chunk_index=None,
            readers=Readers.of(draft.attributes),
        )
        known = self.stored_facts.get(name)
        now = Fact(
            id="1",
            external_id=name,
            subject=subject,
            object=target,
            predicate=draft.predicate,
            weight=draft.weight,
            valid_from=draft.valid_from,
            valid_to=draft.valid_to,
            document=draft.provenance.document if draft.provenance else None,
            chunk_id=None,
            chunk_index=None,
            extracted=False,
            quote=draft.quote,
            attributes=draft.attributes,
            created_at=STORED_AT,
            updated_at=STORED_AT,
        )
        self.stored_facts[name] = now
        return GraphOutcome(external_id=name, status=_status(known, now))

    def _end(self, reference: EntityReference) -> FactEnd:
        name = reference.external_id or _usual(reference.kind or ENTITY, reference.name or "")
        if name not in self.stored_entities:
            if reference.name is None:
                raise InvalidInputError("It is no entity.", field=f"{reference.field}.external_id", remedy="Load it.")
            attributes = DocumentAttributes(artifact_type=reference.kind or ENTITY)
            self._save(EntityDraft(name=reference.name, attributes=attributes), declared=False)
        found = self.stored_entities[name]
        return FactEnd(external_id=name, name=found.name, kind=found.attributes.artifact_type)

    async def get_fact(self, external_id: str, *, principal: Principal) -> Fact:
        await self.fault.strike()
        return _one(self.stored_facts, external_id, "fact")

    async def list_facts(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> FactPage:
        await self.fault.strike()
        names = [
            name
            for name, fact in sorted(self.stored_facts.items())
            if name.startswith(selection.prefix)
            and name > (after or "")
            and (selection.entity is None or selection.entity in (fact.subject.external_id, fact.object.external_id))
        ]
        page = tuple(self.stored_facts[name] for name in names[:limit])
        return FactPage(facts=page, next_after=page[-1].external_id if len(names) > limit else None)

    async def delete_fact(self, external_id: str, *, principal: Principal) -> None:
        await self.fault.strike()
        _one(self.stored_facts, external_id, "fact")
        del self.stored_facts[external_id]


class NothingWaits:
    """An ExtractionStore without chunks."""

    async def waiting(
        self, version: ExtractorVersion, *, principal: Principal, document: str | None, limit: int, after: int = 0
    ) -> list[ExtractionTask]:
        return []

    async def count_waiting(self, version: ExtractorVersion, *, principal: Principal, document: str | None) -> int:
        return 0

    async def store(
        self, task: ExtractionTask, extraction: Extraction, *, version: ExtractorVersion, principal: Principal
    ) -> int:
        return 0

    async def remove_stale(self, *, principal: Principal) -> int:
        return 0


def _usual(kind: str, name: str) -> str:
    return f"{kind}:{name.casefold()}"


def _status(known: object, now: object) -> IngestStatus:
    if known is None:
        return IngestStatus.CREATED
    return IngestStatus.UNCHANGED if known == now else IngestStatus.UPDATED


def _one(stored: dict[str, Stored], external_id: str, what: str) -> Stored:
    if external_id not in stored:
        raise NotFoundError(f"There is no such {what}.", field="external_id")
    return stored[external_id]
