"""The port GraphRepository over PostgreSQL."""

from collections.abc import Sequence

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Page, SaveOutcome
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.graph import Entity, EntityDraft, Fact, FactDraft, GraphSelection, Readers
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.graph import entities as graph_entities
from ragcorp.infrastructure.postgres.graph import facts as graph_facts
from ragcorp.infrastructure.postgres.graph import rows as graph_rows
from ragcorp.infrastructure.postgres.graph.names import Called, made_names
from ragcorp.infrastructure.postgres.visibility.graph import readable_entities, readable_facts
from ragcorp.infrastructure.postgres.visibility.predicates import ENTITIES, FACTS, Predicate, filtered, named


class PostgresGraphRepository:
    """Entities and facts in the tables of the same names."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def save_entities(self, drafts: Sequence[EntityDraft], *, principal: Principal) -> list[SaveOutcome]:
        async with self._database.transaction(principal.workspace) as connection:
            usual = await made_names(
                connection,
                [
                    Called(kind=draft.attributes.artifact_type, name=draft.name, readers=Readers.of(draft.attributes))
                    for draft in drafts
                ],
                principal=principal,
            )
            names = [draft.external_id or name for draft, name in zip(drafts, usual, strict=True)]
            outcomes = await graph_entities.save_entities(
                connection,
                dict(zip(names, drafts, strict=True)),  # the last draft of a name wins
                made={name for name, own in zip(names, usual, strict=True) if name == own},
                principal=principal,
            )
        return [outcomes[name] for name in names]

    async def get_entity(self, external_id: str, *, principal: Principal) -> Entity:
        rows = await self._entity_rows(_only("e", external_id), principal=principal, limit=1)
        if not rows:
            raise NotFoundError("There is no such entity.", field="external_id")
        return graph_rows.entity(rows[0])

    async def list_entities(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Entity, str]:
        chosen = named("e", prefix=selection.prefix, after=after)
        if selection.name is not None:
            chosen &= Predicate.of("e.keys && ARRAY[folded_name(%(name)s), name_words(%(name)s)]", name=selection.name)
        chosen &= filtered(selection.filters, table=ENTITIES, alias="e")
        rows = await self._entity_rows(chosen, principal=principal, limit=limit + 1)
        page = tuple(graph_rows.entity(row) for row in rows[:limit])
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
        return graph_rows.fact(rows[0])

    async def list_facts(
        self, selection: GraphSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Fact, str]:
        chosen = named("f", prefix=selection.prefix, after=after)
        if selection.entity is not None:
            chosen &= Predicate.of("%(entity)s IN (s.external_id, o.external_id)", entity=selection.entity)
        chosen &= filtered(selection.filters, table=FACTS, alias="f")
        rows = await self._fact_rows(chosen, principal=principal, limit=limit + 1)
        page = tuple(graph_rows.fact(row) for row in rows[:limit])
        return Page(items=page, next_after=page[-1].external_id if len(rows) > limit else None)

    async def delete_fact(self, external_id: str, *, principal: Principal) -> None:
        async with self._database.transaction(principal.workspace) as connection:
            await graph_facts.delete_fact(connection, external_id, principal=principal)

    async def _entity_rows(self, chosen: Predicate, *, principal: Principal, limit: int) -> list[TupleRow]:
        return await self._rows(graph_rows.ENTITY_ROWS, readable_entities(principal) & chosen, principal, limit)

    async def _fact_rows(self, chosen: Predicate, *, principal: Principal, limit: int) -> list[TupleRow]:
        return await self._rows(graph_rows.FACT_ROWS, readable_facts(principal) & chosen, principal, limit)

    async def _rows(self, statement: str, condition: Predicate, principal: Principal, limit: int) -> list[TupleRow]:
        return await self._database.fetch(
            statement.format(condition=condition.sql),
            condition.values | {"limit": limit},
            workspace=principal.workspace,
        )


def _only(alias: str, external_id: str) -> Predicate:
    return Predicate.of(f"{alias}.external_id = %(external_id)s", external_id=external_id)
