"""The port ItemRepository over PostgreSQL."""

from collections.abc import Callable, Sequence
from typing import Any

from ragcorp.domain.collections import Collection, Item, ItemDraft, ItemSelection
from ragcorp.domain.documents import Page, WriteOutcome
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.items.writes import read_name_key, save_items
from ragcorp.infrastructure.postgres.tables import embedded as tables
from ragcorp.infrastructure.postgres.tables.attributes import attribute_columns, read_attributes
from ragcorp.infrastructure.postgres.tables.embedded import EmbeddedTable
from ragcorp.infrastructure.postgres.visibility.predicates import (
    HISTORY,
    MEMORY,
    FilterTable,
    Predicate,
    filtered,
    named,
    visibility,
)

TABLES: dict[Collection, tuple[EmbeddedTable, FilterTable]] = {
    Collection.MEMORY: (tables.MEMORY, MEMORY),
    Collection.HISTORY: (tables.HISTORY, HISTORY),
}

COLUMNS = f"""
    i.id, i.external_id, i.text, i.session, i.speaker, i.entities, i.created_at, i.updated_at,
    EXISTS (SELECT FROM {{backlog}} b WHERE b.item_id = i.id), {attribute_columns("i")}
"""

GET = """
    SELECT {columns} FROM {items} i WHERE {condition} AND i.external_id = %(external_id)s
"""

LOCK_ONE = f"{GET} FOR UPDATE OF i"

LIST = """
    SELECT {columns} FROM {items} i WHERE {condition} ORDER BY i.external_id LIMIT %(limit)s
"""

LATEST_OF_CONVERSATION = """
    SELECT {columns} FROM {items} i
    WHERE {condition} AND i.session = %(session)s
        AND i.visibility_scope = 'private' AND i.owner = %(subject)s
    ORDER BY i.occurred_at DESC, i.id DESC
    LIMIT %(limit)s
"""
"""Only private items are certain to be written by their owner."""

DELETE = """
    WITH locked AS MATERIALIZED (
        SELECT i.id FROM {items} i WHERE {condition} ORDER BY i.external_id FOR UPDATE)
    DELETE FROM {items} WHERE id IN (SELECT id FROM locked)
"""
"""Locks in the order of external_id, as saves do it; vectors and backlog go with the items."""


class PostgresItemRepository:
    """The items of one collection: memory or history."""

    def __init__(self, *, database: Database, collection: Collection) -> None:
        self._database = database
        self._collection = collection
        self._tables, self._filter_table = TABLES[collection]
        self._name_key: bytes | None = None

    async def save_many(self, drafts: Sequence[ItemDraft], *, principal: Principal) -> list[WriteOutcome]:
        try:
            return await self._save(drafts, principal)
        except ConflictError:
            if all(draft.external_id is not None for draft in drafts):
                raise
            # an item with a derived name may have been hidden between query and write: a second try sees it
            return await self._save(drafts, principal)

    async def _save(self, drafts: Sequence[ItemDraft], principal: Principal) -> list[WriteOutcome]:
        async with self._database.transaction(principal.workspace) as connection:
            if self._name_key is None and any(draft.external_id is None for draft in drafts):
                self._name_key = await read_name_key(connection)
            return await save_items(
                connection, self._tables, drafts, principal=principal, name_key=self._name_key or b""
            )

    async def change(
        self, external_id: str, change: Callable[[Item], ItemDraft], *, principal: Principal
    ) -> WriteOutcome:
        readable = visibility(principal, alias="i")
        async with self._database.transaction(principal.workspace) as connection:
            cursor = await connection.execute(*self._bound(LOCK_ONE, readable, external_id=external_id))
            row = await cursor.fetchone()
            if row is None:
                raise _missing()
            draft = change(_item(row, collection=self._collection))
            if draft.external_id != external_id:
                raise ConflictError("A change cannot rename an item.", field="external_id", remedy="Keep its name.")
            (outcome,) = await save_items(connection, self._tables, [draft], principal=principal)
            return outcome

    async def get(self, external_id: str, *, principal: Principal) -> Item:
        get = self._bound(GET, visibility(principal, alias="i"), external_id=external_id)
        rows = await self._database.fetch(*get, workspace=principal.workspace)
        if not rows:
            raise _missing()
        return _item(rows[0], collection=self._collection)

    async def list_page(
        self, selection: ItemSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> Page[Item, str]:
        selected = self._selected(selection, principal) & named("i", after=after)
        page = self._bound(LIST, selected, limit=limit + 1)
        rows = await self._database.fetch(*page, workspace=principal.workspace)
        items = tuple(_item(row, collection=self._collection) for row in rows[:limit])
        return Page(items=items, next_after=items[-1].external_id if len(rows) > limit else None)

    async def latest_of_conversation(self, session: str, *, principal: Principal, limit: int) -> list[Item]:
        latest = self._bound(LATEST_OF_CONVERSATION, visibility(principal, alias="i"), session=session, limit=limit)
        rows = await self._database.fetch(*latest, workspace=principal.workspace)
        return [_item(row, collection=self._collection) for row in reversed(rows)]

    async def delete_one(self, external_id: str, *, principal: Principal) -> None:
        exactly = Predicate.of("i.external_id = %(external_id)s", external_id=external_id)
        if not await self._delete(visibility(principal, alias="i") & exactly, principal):
            raise _missing()

    async def delete(self, selection: ItemSelection, *, principal: Principal) -> int:
        return await self._delete(self._selected(selection, principal), principal)

    async def _delete(self, selected: Predicate, principal: Principal) -> int:
        async with self._database.transaction(principal.workspace) as connection:
            return (await connection.execute(*self._bound(DELETE, selected))).rowcount

    def _selected(self, selection: ItemSelection, principal: Principal) -> Predicate:
        return (
            visibility(principal, alias="i")
            & filtered(selection.filters, table=self._filter_table, alias="i")
            & named("i", prefix=selection.prefix)
        )

    def _bound(self, template: str, condition: Predicate, **values: object) -> tuple[str, dict[str, object]]:
        columns = COLUMNS.format(backlog=self._tables.backlog)
        statement = template.format(items=self._tables.items, columns=columns, condition=condition.sql)
        return statement, condition.values | values


def _item(row: Sequence[Any], *, collection: Collection) -> Item:
    item_id, external_id, text, session, speaker, entities, created_at, updated_at, pending, *attributes = row
    return Item(
        id=str(item_id),
        collection=collection,
        external_id=external_id,
        text=text,
        attributes=read_attributes(attributes),
        session=session,
        speaker=speaker,
        entities=tuple(entities),
        pending=pending,
        created_at=created_at,
        updated_at=updated_at,
    )


def _missing() -> NotFoundError:
    return NotFoundError("There is no such item.", field="external_id", remedy="List the items to see which there are.")
