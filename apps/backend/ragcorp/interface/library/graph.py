"""``rag.graph``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from ragcorp.application.validation.graph_drafts import entity_draft, fact_draft, reference
from ragcorp.application.validation.json_lines import LoadReport
from ragcorp.domain.documents import WriteOutcome
from ragcorp.domain.extraction import ExtractionReport
from ragcorp.domain.graph import ENTITY, FACT, Entity, EntityReference, Fact, GraphSelection
from ragcorp.domain.principal import Principal
from ragcorp.interface.library.attributes import FactDetails, GraphAttributes, attributes_of
from ragcorp.interface.library.collections import Facade
from ragcorp.interface.line_files import opened_or_given
from ragcorp.interface.request_values import parse_selection
from ragcorp.interface.use_cases import UseCases


class Graph(Facade):
    """Entities, and facts between them.

    >>> rag.graph.add_fact('Marta', 'lleva el contrato de', 'Acme Corporation').status.value
    'created'
    """

    def __init__(self, use_cases: UseCases, *, principal: Principal) -> None:
        super().__init__(use_cases, principal=principal)
        self._graph = use_cases.graph

    async def add_entity(
        self,
        name: str,
        *,
        kind: str = ENTITY,
        aliases: Sequence[str] = (),
        description: str = "",
        external_id: str | None = None,
        **attributes: Unpack[GraphAttributes],
    ) -> WriteOutcome:
        """Create the entity or replace the one of that name; without ``external_id`` kind, name and readers name it."""
        draft = entity_draft(
            name=name,
            external_id=external_id,
            aliases=aliases,
            description=description,
            attributes=attributes_of(attributes, kind=kind, default_language=self._use_cases.default_language),
        )
        return await self._graph.save_entities.save(draft, principal=self._principal)

    async def add_fact(
        self,
        subject: str | EntityReference,
        predicate: str,
        object: str | EntityReference,  # noqa: A002 - a fact's own word
        *,
        external_id: str | None = None,
        kind: str = FACT,
        **details: Unpack[FactDetails],
    ) -> WriteOutcome:
        """Create the fact or replace the one of that name.

        A subject or object that is text is a name; an unknown entity is created. ``kind`` is the fact's type: the decay
        of a relationship that is over stops at the evergreen floor.
        """
        draft = fact_draft(
            subject=reference(field="subject", name=subject) if isinstance(subject, str) else subject,
            object=reference(field="object", name=object) if isinstance(object, str) else object,
            predicate=predicate,
            external_id=external_id,
            weight=details.pop("weight", 1.0),
            valid_from=details.pop("valid_from", None),
            valid_to=details.pop("valid_to", None),
            provenance=details.pop("provenance", None),
            quote=details.pop("quote", ""),
            attributes=attributes_of(details, kind=kind, default_language=self._use_cases.default_language),
        )
        return await self._graph.save_facts.save(draft, principal=self._principal)

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
        selection = GraphSelection(prefix=prefix, filters=parse_selection(filters), name=name)
        return await self._graph.read.entities(selection, principal=self._principal, limit=limit, cursor=cursor)

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
        selection = GraphSelection(prefix=prefix, filters=parse_selection(filters), entity=entity)
        return await self._graph.read.facts(selection, principal=self._principal, limit=limit, cursor=cursor)

    async def entity(self, external_id: str) -> Entity:
        return await self._graph.read.entity(external_id, principal=self._principal)

    async def fact(self, external_id: str) -> Fact:
        return await self._graph.read.fact(external_id, principal=self._principal)

    async def delete_entity(self, external_id: str) -> None:
        """Remove an entity with its facts, for good."""
        await self._graph.delete.entity(external_id, principal=self._principal)

    async def delete_fact(self, external_id: str) -> None:
        await self._graph.delete.fact(external_id, principal=self._principal)

    async def load(
        self, lines: Iterable[bytes] | str | Path, *, on_progress: Callable[[int], None] | None = None
    ) -> LoadReport:
        """Load entities and facts, one JSON object a line: a file by its path, or the lines themselves.

        A bad line is reported and stops no other; what was loaded before is unchanged.
        """
        with opened_or_given(lines) as opened:
            return await self._graph.load.load(opened, principal=self._principal, on_progress=on_progress)

    async def extract(
        self,
        *,
        document: str | None = None,
        limit: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> ExtractionReport:
        """Extract facts from passages of a document or of the workspace that the language model has not read yet.

        Raises ConfigurationError without a language model.
        """
        return await self._graph.extract.extract(
            principal=self._principal, document=document, limit=limit, on_progress=on_progress
        )
