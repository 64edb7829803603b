"""The knowledge graph with plain arguments: what ``rag.graph`` is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Unpack

from ragcorp.application.graph.load import GraphLoad
from ragcorp.application.validation.graph_drafts import entity_draft, fact_draft, reference
from ragcorp.domain.extraction import ExtractionReport
from ragcorp.domain.graph import (
    ENTITY,
    FACT,
    Entity,
    EntityReference,
    Fact,
    GraphOutcome,
    GraphSelection,
)
from ragcorp.domain.principal import Principal
from ragcorp.interface.graph_use_cases import GraphUseCases
from ragcorp.interface.library.collections import Facade
from ragcorp.interface.library.options import EntityOptions, FactOptions, new_attributes, split
from ragcorp.interface.line_files import lines_of, opened_lines
from ragcorp.interface.request_values import parse_selection


class Graph(Facade):
    """Entities, and facts between them."""

    def __init__(self, use_cases: GraphUseCases, *, principal: Principal, default_language: str) -> None:
        self._use_cases = use_cases
        self._principal = principal
        self._default_language = default_language

    async def add_entity(self, name: str, *, kind: str = ENTITY, **options: Unpack[EntityOptions]) -> GraphOutcome:
        """Create the entity or replace the one of that name; without ``external_id`` kind, name and readers name it."""
        attributes, rest = split(options)
        draft = entity_draft(
            name=name, attributes=new_attributes(attributes, kind=kind, language=self._default_language), **rest
        )
        return await self._use_cases.save_entities.save(draft, principal=self._principal)

    async def add_fact(
        self,
        subject: str | EntityReference,
        predicate: str,
        object: str | EntityReference,  # noqa: A002 - a fact's own word
        *,
        kind: str = FACT,
        **options: Unpack[FactOptions],
    ) -> GraphOutcome:
        """Create the fact or replace the one of that name.

        A textual subject or object is a name; an unknown one is created. ``kind`` is the type of the fact. The decay of
        a relationship that is over stops at the evergreen floor.
        """
        attributes, rest = split(options)
        draft = fact_draft(
            subject=reference(field="subject", name=subject) if isinstance(subject, str) else subject,
            object=reference(field="object", name=object) if isinstance(object, str) else object,
            predicate=predicate,
            attributes=new_attributes(attributes, kind=kind, language=self._default_language),
            **rest,
        )
        return await self._use_cases.save_facts.save(draft, principal=self._principal)

    async def entities(
        self,
        *,
        name: str | None = None,
        prefix: str = "",
        filters: Mapping[str, object] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[tuple[Entity, ...], str | None]:
        """Return a page of entities, all or those of a name or alias, and the cursor of the next page."""
        selection = GraphSelection(prefix=prefix, filters=parse_selection(filters or {}), name=name)
        return await self._use_cases.read.entities(selection, principal=self._principal, limit=limit, cursor=cursor)

    async def facts(
        self,
        *,
        entity: str | None = None,
        prefix: str = "",
        filters: Mapping[str, object] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[tuple[Fact, ...], str | None]:
        """Return a page of facts, all or those on an entity (external_id), and the cursor of the next page."""
        selection = GraphSelection(prefix=prefix, filters=parse_selection(filters or {}), entity=entity)
        return await self._use_cases.read.facts(selection, principal=self._principal, limit=limit, cursor=cursor)

    async def entity(self, external_id: str) -> Entity:
        return await self._use_cases.read.entity(external_id, principal=self._principal)

    async def fact(self, external_id: str) -> Fact:
        return await self._use_cases.read.fact(external_id, principal=self._principal)

    async def delete_entity(self, external_id: str) -> None:
        """Remove an entity with its facts, for good."""
        await self._use_cases.delete.entity(external_id, principal=self._principal)

    async def delete_fact(self, external_id: str) -> None:
        """Remove a fact for good."""
        await self._use_cases.delete.fact(external_id, principal=self._principal)

    async def load(
        self, lines: Iterable[bytes] | str | Path, *, on_progress: Callable[[int], None] | None = None
    ) -> GraphLoad:
        """Load entities and facts, one JSON object a line: a file by its path, or the lines themselves.

        A bad line is reported and stops no other; what was loaded before is unchanged.
        """
        if isinstance(lines, str | Path):
            with opened_lines(Path(lines)) as stream:
                return await self._use_cases.load.load(
                    lines_of(stream), principal=self._principal, on_progress=on_progress
                )
        return await self._use_cases.load.load(lines, principal=self._principal, on_progress=on_progress)

    async def extract(
        self,
        *,
        document: str | None = None,
        limit: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> ExtractionReport:
        """Extract facts from what the language model has not read yet of a document, or of the workspace.

        Raises ConfigurationError without a language model.
        """
        return await self._use_cases.extract.extract(
            principal=self._principal, document=document, limit=limit, on_progress=on_progress
        )
