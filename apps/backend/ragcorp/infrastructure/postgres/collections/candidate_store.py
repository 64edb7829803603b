"""The port CandidateStore over PostgreSQL."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import TupleRow

from ragcorp.domain.documents import Chunk, VisibilityScope
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import CHUNK_COLLECTION, HitKey
from ragcorp.domain.search.candidates import Description, Features
from ragcorp.infrastructure.postgres.chunks.rows import CHUNK_ID, chunk, passage
from ragcorp.infrastructure.postgres.collections import candidate_statements
from ragcorp.infrastructure.postgres.collections.candidate_statements import Tables
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACT_CHUNKS, TABLES, CollectionTable


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pool:
    """The keys of a call by collection: the tables and values of its statement."""

    tables: Tables
    values: Mapping[str, object]
    keys: tuple[HitKey, ...]

    def rows(self, rows: Sequence[TupleRow]) -> Iterator[tuple[HitKey, str, TupleRow]]:
        """Return key, collection and remaining columns of each row whose first column is a number."""
        for number, *columns in rows:
            key = self.keys[number]
            yield key, key[1] or CHUNK_COLLECTION, tuple(columns)


class PostgresCandidateStore:
    """Each call is one statement in one round trip. Keys that no row can have are skipped."""

    def __init__(self, database: Database, *, model: ActiveModel | None) -> None:
        self._database = database
        self._model = model

    async def describe(
        self, keys: Sequence[HitKey], *, principal: Principal, filters: Filters = ()
    ) -> dict[HitKey, Description]:
        pool = _pool(keys, principal, filters)
        if not pool.tables:
            return {}
        rows = await self._rows(candidate_statements.described(pool.tables), pool.values, principal.workspace)
        return {key: _description(collection, row) for key, collection, row in pool.rows(rows)}

    async def features(self, keys: Sequence[HitKey], *, principal: Principal) -> Features:
        pool = _pool(keys, principal)
        if not pool.tables:
            return Features()
        model_id, dimensions = (self._model.id, self._model.dimensions) if self._model else (0, 1)
        statement = candidate_statements.features(pool.tables, model_id=model_id, dimensions=dimensions)
        cosines: dict[tuple[HitKey, HitKey], float] = {}
        lexemes: dict[HitKey, frozenset[str]] = {}
        for number, other, cosine, item_lexemes in await self._rows(statement, pool.values, principal.workspace):
            if other is None:
                lexemes[pool.keys[number]] = frozenset(item_lexemes or ())
            else:
                smaller, larger = sorted((pool.keys[number], pool.keys[other]))
                cosines[smaller, larger] = cosine
        return Features(cosines=cosines, lexemes=lexemes)

    async def read(self, keys: Sequence[HitKey], *, principal: Principal) -> dict[HitKey, Chunk]:
        pool = _pool(keys, principal)
        if not pool.tables:
            return {}
        rows = await self._rows(candidate_statements.passages(pool.tables), pool.values, principal.workspace)
        return {key: passage(key[0], collection, row) for key, collection, row in pool.rows(rows)}

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


def _pool(keys: Sequence[HitKey], principal: Principal, filters: Filters = ()) -> _Pool:
    """Group the keys by collection, in the order of ``TABLES``: few shapes of statement, each prepared once.

    Collections that the filters exclude, or without a filtered field, get no keys.
    """
    ordered = tuple(dict.fromkeys(keys))
    by_collection: dict[str, dict[int, int | UUID]] = {}
    for number, (item_id, collection, _) in enumerate(ordered):
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
    return _Pool(tables=tuple(tables), values=values, keys=ordered)


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
