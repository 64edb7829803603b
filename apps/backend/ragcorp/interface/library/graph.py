"""The knowledge graph with plain arguments: what ``rag.graph`` is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from ragcorp.application.graph.load import GraphLoad
from ragcorp.application.validation.graph_drafts import entity_draft, fact_draft, reference
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.extraction import ExtractionReport
from ragcorp.domain.graph import (
    ENTITY,
    FACT,
    Entity,
    EntityReference,
    Fact,
    GraphOutcome,
    GraphSelection,
    Provenance,
)
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.interface.graph_use_cases import GraphUseCases
from ragcorp.interface.library.collections import Facade
from ragcorp.interface.line_files import lines_of, opened_lines
from ragcorp.interface.request_values import parse_selection


class Graph(Facade):
    """Entities, and facts between them."""

    def __init__(self, use_cases: GraphUseCases, *, principal: Principal, default_language: str) -> None:
        self._use_cases = use_cases
        self._principal = principal
        self._default_language = default_language

    async def add_entity(
        self,
        name: str,
        *,
        kind: str = ENTITY,
        aliases: Sequence[str] = (),
        description: str = "",
        external_id: str | None = None,
        language: str | None = None,
        sensitivity: Sensitivity = Sensitivity.NORMAL,
        visibility_scope: VisibilityScope = VisibilityScope.WORKSPACE,
        owner: str = "",
        metadata: Mapping[str, object] | None = None,
    ) -> GraphOutcome:
        """Create the entity or replace the one of that name; without ``external_id`` kind, name and readers name it."""
        draft = entity_draft(
            name=name,
            external_id=external_id,
            aliases=aliases,
            description=description,
            attributes=DocumentAttributes(
                language=language or self._default_language,
                artifact_type=kind,
                sensitivity=sensitivity,
                visibility_scope=visibility_scope,
                owner=owner,
                metadata=metadata or {},
            ),
        )
        return await self._use_cases.save_entities.save(draft, principal=self._principal)

    async def add_fact(
        self,
        subject: str | EntityReference,
        predicate: str,
        object: str | EntityReference,  # noqa: A002 - a fact's own word
        *,
        external_id: str | None = None,
        kind: str = FACT,
        weight: float = 1.0,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        provenance: Provenance | None = None,
        quote: str = "",
        language: str | None = None,
        sensitivity: Sensitivity = Sensitivity.NORMAL,
        visibility_scope: VisibilityScope = VisibilityScope.WORKSPACE,
        owner: str = "",
        metadata: Mapping[str, object] | None = None,
    ) -> GraphOutcome:
        """Create the fact or replace the one of that name.

        A subject or object that is text is a name, and made if it is not known. ``kind`` is the fact's type: of a
        relationship that is over, decay stops at the evergreen floor. A time without a zone is in UTC.
        """
        draft = fact_draft(
            subject=reference(field="subject", name=subject) if isinstance(subject, str) else subject,
            object=reference(field="object", name=object) if isinstance(object, str) else object,
            predicate=predicate,
            external_id=external_id,
            weight=weight,
            valid_from=valid_from,
            valid_to=valid_to,
            provenance=provenance,
            quote=quote,
            attributes=DocumentAttributes(
                language=language or self._default_language,
                artifact_type=kind,
                sensitivity=sensitivity,
                visibility_scope=visibility_scope,
                owner=owner,
                metadata=metadata or {},
            ),
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
