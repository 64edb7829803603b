"""The column of parts that were not read, as JSON, and the port UnreadParts over it."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from ragcorp.domain.documents import UnreadKind, UnreadPart
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

_KINDS = frozenset(UnreadKind)

UNREAD = """
    SELECT d.id, d.unread FROM documents d
    WHERE d.id = ANY(%(ids)s) AND d.unread <> '[]' AND d.deleted_at IS NULL AND {condition}
"""


def unread_values(parts: Sequence[UnreadPart]) -> list[dict[str, object]]:
    return [{"kind": part.kind.value, "count": part.count, "places": list(part.places)} for part in parts]


def read_unread(values: Sequence[dict[str, Any]]) -> tuple[UnreadPart, ...]:
    return tuple(
        UnreadPart(kind=UnreadKind(value["kind"]), count=value["count"], places=tuple(value["places"]))
        for value in values
        if value["kind"] in _KINDS  # a newer process may have stored one that this one does not know
    )


class PostgresUnreadParts:
    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def read(
        self, document_ids: Sequence[UUID], *, principal: Principal
    ) -> Mapping[UUID, tuple[UnreadPart, ...]]:
        statement = visibility(principal, alias="d").bind(UNREAD, ids=list(document_ids))
        rows = await self._database.fetch(*statement, workspace=principal.workspace)
        return {document_id: read_unread(unread) for document_id, unread in rows}
