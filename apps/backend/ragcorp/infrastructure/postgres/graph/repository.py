"""The port GraphRepository over PostgreSQL."""

from collections.abc import Sequence

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Page, SaveOutcome
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.graph import Entity, EntityDraft, Fact, FactDraft, FactEnd, GraphSelection, Readers
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.graph import entities as graph_entities
from ragcorp.infrastructure.postgres.graph import facts as graph_facts
from ragcorp.infrastructure.postgres.graph.names import NamedEntity, derived_ids
from ragcorp.infrastructure.postgres.tables.attributes import attribute_columns, read_attributes
from ragcorp.infrastructure.postgres.visibility.graph import readable_entities, readable_facts
from ragcorp.infrastructure.postgres.visibility.predicates import ENTITIES, FACTS, Predicate, filtered, named

ENTITY_ROWS = f"""
    SELECT e.id, e.external_id, e.name, e.aliases, e.description, e.declared,
           EXISTS (SELECT FROM entity_backlog b WHERE b.item_id = e.id), e.created_at, e.updated_at,
           {attribute_columns("e")}
    FROM entities e
    WHERE {{condition}}
    ORDER BY e.external_id
    LIMIT %(limit)s
"""

FACT_ROWS = f"""
    SELECT f.id, f.external_id, s.external_id, s.name, s.artifact_type, o.external_id, o.name, o.artifact_type,
           f.predicate, f.weight, f.valid_from, f.valid_to, d.external_id, f.chunk_id, c.chunk_index, f.extracted,
           f.quote, f.created_at, f.updated_at, {attribute_columns("f")}
    FROM facts f
    JOIN entities s ON s.id = f.subject_id
    JOIN entities o ON o.id = f.object_id
    LEFT JOIN documents d ON d.id = f.document_id
    LEFT JOIN chunks c ON c.id = f.chunk_id
    WHERE {{condition}}
    ORDER BY f.external_id
    LIMIT %(limit)s
"""


class PostgresGraphRepository:
    """Entities and facts in the tables of the same names."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def save_entities(self, drafts: Sequence[EntityDraft], *, principal: Principal) -> list[SaveOutcome]:
        async with self._database.transaction(principal.workspace) as connection:
            named = [
                NamedEntity(kind=draft.attributes.artifact_type, name=draft.name, readers=Readers.of(draft.attributes))
                for draft in drafts
            ]
            derived = await derived_ids(connection, named, principal=principal)
            names = [draft.external_id or external_id for draft, external_id in zip(drafts, derived, strict=True)]
            outcomes = await graph_entities.save_entities(
                connection,
                dict(zip(names, drafts, strict=True)),  # the last draft of a name wins
                derived={name for name, external_id in zip(names, derived, strict=True) if name == external_id},
                principal=principal,
            )
        return [outcomes[name] for name in names]

    async def get_entity(self, external_id: str, *, principal: Principal) -> Entity:
        rows = await self._entity_rows(_only("e", external_id), principal=principal, limit=1)
        if not rows:
            raise NotFoundError("There is no such entity.", field="external_id")
        return _entity(rows[0])

    async def list_entities(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Entity, str]:
        selected = named("e", prefix=selection.prefix, after=after)
        if selection.name is not None:
            selected &= Predicate.of(
                "e.keys && ARRAY[folded_name(%(name)s), name_words(%(name)s)]", name=selection.name
            )
        selected &= filtered(selection.filters, table=ENTITIES, alias="e")
        rows = await self._entity_rows(selected, principal=principal, limit=limit + 1)
        page = tuple(_entity(row) for row in rows[:limit])
        return Page(items=page, next_after=page[-1].external_id if len(rows) > limit else None)

    async def delete_entity(self, external_id: str, *, principal: Principal) -> None:
        async with self._database.transaction(principal.workspace) as connection:
            await graph_entities.delete_entity(connection, external_id, principal=principal)

    async def save_facts(self, drafts: Sequence[FactDraft], *, principal: Principal) -> list[SaveOutcome]:
        async with self._database.transaction(principal.workspace) as connection:
            return await graph_facts.save_facts(connection, drafts, principal=principal)

    async def get_fact(self, external_id: str, *, principal: Principal) -> Fact:
        rows = await self._fact_rows(_only("f", external_id), principal=principal, limit=1)
        if not rows:
            raise NotFoundError("There is no such fact.", field="external_id")
        return _fact(rows[0])

    async def list_facts(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Fact, str]:
        selected = named("f", prefix=selection.prefix, after=after)
        if selection.entity is not None:
            selected &= Predicate.of("%(entity)s IN (s.external_id, o.external_id)", entity=selection.entity)
        selected &= filtered(selection.filters, table=FACTS, alias="f")
        rows = await self._fact_rows(selected, principal=principal, limit=limit + 1)
        page = tuple(_fact(row) for row in rows[:limit])
        return Page(items=page, next_after=page[-1].external_id if len(rows) > limit else None)

    async def delete_fact(self, external_id: str, *, principal: Principal) -> None:
        async with self._database.transaction(principal.workspace) as connection:
            await graph_facts.delete_fact(connection, external_id, principal=principal)

    async def _entity_rows(self, selected: Predicate, *, principal: Principal, limit: int) -> list[TupleRow]:
        condition = readable_entities(principal) & selected
        return await self._database.fetch(*condition.bind(ENTITY_ROWS, limit=limit), workspace=principal.workspace)

    async def _fact_rows(self, selected: Predicate, *, principal: Principal, limit: int) -> list[TupleRow]:
        condition = readable_facts(principal) & selected
        return await self._database.fetch(*condition.bind(FACT_ROWS, limit=limit), workspace=principal.workspace)


def _only(alias: str, external_id: str) -> Predicate:
    return Predicate.of(f"{alias}.external_id = %(external_id)s", external_id=external_id)


def _entity(row: TupleRow) -> Entity:
    id_, external_id, name, aliases, description, declared, pending, created_at, updated_at, *described = row
    return Entity(
        id=str(id_),
        external_id=external_id,
        name=name,
        aliases=tuple(aliases),
        description=description,
        attributes=read_attributes(described),
        declared=declared,
        pending=pending,
        created_at=created_at,
        updated_at=updated_at,
    )


def _fact(row: TupleRow) -> Fact:
    (
        id_, external_id, subject_id, subject_name, subject_kind, object_id, object_name, object_kind, predicate,
        weight, valid_from, valid_to, document, chunk_id, chunk_index, extracted, quote,
        created_at, updated_at, *described,
    ) = row  # fmt: skip
    return Fact(
        id=str(id_),
        external_id=external_id,
        subject=FactEnd(external_id=subject_id, name=subject_name, kind=subject_kind),
        object=FactEnd(external_id=object_id, name=object_name, kind=object_kind),
        predicate=predicate,
        weight=weight,
        valid_from=valid_from,
        valid_to=valid_to,
        document=document,
        chunk_id=None if chunk_id is None else str(chunk_id),
        chunk_index=chunk_index,
        extracted=extracted,
        quote=quote,
        attributes=read_attributes(described),
        created_at=created_at,
        updated_at=updated_at,
    )
