"""Reads stored passages of every collection by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Chunk, VisibilityScope
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import CHUNK_COLLECTION, HitKey
from ragcorp.domain.search.candidates import Description, Features
from ragcorp.infrastructure.postgres.chunks.ids import CHUNK_ID
from ragcorp.infrastructure.postgres.chunks.rows import chunk, passage
from ragcorp.infrastructure.postgres.collections import candidate_statements
from ragcorp.infrastructure.postgres.collections.candidate_statements import Tables
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACT_CHUNKS, TABLES, CollectionTable


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The keys of a call by collection: what its statement is made of, and its values."""

    tables: Tables
    values: Mapping[str, object]
    keys: tuple[HitKey, ...]

    def rows(self, rows: Sequence[TupleRow]) -> Iterator[tuple[HitKey, str, TupleRow]]:
        """Return key, collection and remaining columns of each row whose first column is a number."""
        for number, *columns in rows:
            key = self.keys[number]
            yield key, key[1] or CHUNK_COLLECTION, tuple(columns)


class PostgresCandidateStore:
    """Each call is one statement; its settings travel with it in one pipelined round trip.

    What cannot be a key of ours is not there; nor is a chunk by its position, but for its neighbours.
    """

    def __init__(self, database: Database, *, model: ActiveModel | None) -> None:
        self._database = database
        self._model = model

    async def describe(
        self, keys: Sequence[HitKey], *, principal: Principal, filters: Filters = ()
    ) -> dict[HitKey, Description]:
        asked = _asked(keys, principal, filters)
        if not asked.tables:
            return {}
        rows = await self._rows(candidate_statements.described(asked.tables), asked.values, principal.workspace)
        return {key: _description(collection, row) for key, collection, row in asked.rows(rows)}

    async def features(self, keys: Sequence[HitKey], *, principal: Principal) -> Features:
        asked = _asked(keys, principal)
        if not asked.tables:
            return Features()
        model_id, dimensions = (self._model.id, self._model.dimensions) if self._model else (0, 1)
        statement = candidate_statements.features(asked.tables, model_id=model_id, dimensions=dimensions)
        cosines: dict[tuple[HitKey, HitKey], float] = {}
        lexemes: dict[HitKey, frozenset[str]] = {}
        for number, other, cosine, held in await self._rows(statement, asked.values, principal.workspace):
            if other is None:
                lexemes[asked.keys[number]] = frozenset(held or ())
            else:
                smaller, larger = sorted((asked.keys[number], asked.keys[other]))
                cosines[smaller, larger] = cosine
        return Features(cosines=cosines, lexemes=lexemes)

    async def read(self, keys: Sequence[HitKey], *, principal: Principal) -> dict[HitKey, Chunk]:
        asked = _asked(keys, principal)
        if not asked.tables:
            return {}
        rows = await self._rows(candidate_statements.passages(asked.tables), asked.values, principal.workspace)
        return {key: passage(key[0], collection, row) for key, collection, row in asked.rows(rows)}

    async def neighbours(
        self, centres: Sequence[tuple[UUID, int]], *, distance: int, principal: Principal
    ) -> dict[tuple[UUID, int], Chunk]:
        if not centres:
            return {}
        visible = ARTIFACT_CHUNKS.visible(principal)
        values = visible.values | {
            "document_ids": [document_id for document_id, _ in centres],
            "indexes": [index for _, index in centres],
            "distance": distance,
        }
        rows = await self._rows(candidate_statements.neighbours(visible.sql), values, principal.workspace)
        return {(near.document_id, near.chunk_index): near for near in map(chunk, rows)}

    async def _rows(self, statement: str, values: Mapping[str, object], workspace: str) -> list[TupleRow]:
        return await self._database.fetch(
            statement, values, workspace=workspace, settings=candidate_statements.SETTINGS
        )


def _asked(keys: Sequence[HitKey], principal: Principal, filters: Filters = ()) -> _Asked:
    """Sort the keys by collection, in the order of ``TABLES``: few shapes of statement, each prepared once.

    A collection that the filters exclude, or that lacks a field of theirs, has no key.
    """
    pool = tuple(dict.fromkeys(keys))
    by_collection: dict[str, dict[int, int | UUID]] = {}
    for number, (item_id, collection, _) in enumerate(pool):
        table = TABLES.get(collection or CHUNK_COLLECTION)
        stored = _stored_key(item_id, table) if table else None
        if table is not None and stored is not None:
            by_collection.setdefault(table.collection, {})[number] = stored
    tables: list[tuple[CollectionTable, str]] = []
    values: dict[str, object] = {}
    for name, table in TABLES.items():
        number = len(tables)
        passing = table.passing(principal, filters, place=number) if name in by_collection else None
        if passing is None:
            continue
        values |= passing.values
        values[f"numbers_{number}"] = list(by_collection[name])
        values[f"keys_{number}"] = list(by_collection[name].values())
        tables.append((table, passing.sql))
    return _Asked(tables=tuple(tables), values=values, keys=pool)


def _stored_key(item_id: str, table: CollectionTable) -> int | UUID | None:
    if table.key_type == "bigint":
        return int(item_id) if CHUNK_ID.fullmatch(item_id) else None
    try:
        return UUID(item_id)
    except ValueError:
        return None


def _description(collection: str, row: TupleRow) -> Description:
    kind, workspace, sensitivity, scope, owner, language, artifact, occurred_at, ages_from = row
    return Description(
        collection=collection,
        kind=kind,
        workspace=workspace,
        sensitivity=Sensitivity(sensitivity),
        visibility_scope=VisibilityScope(scope),
        owner=owner,
        language=language,
        artifact=None if artifact is None else str(artifact),
        occurred_at=occurred_at,
        ages_from=ages_from,
    )
