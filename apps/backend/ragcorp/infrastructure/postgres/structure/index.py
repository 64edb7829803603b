"""The port StructureIndex over PostgreSQL."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.structure import Named, SimilarEntity, SyntaxNeighbours
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.domain.structure.entities import EntityIdentity, EntityKind, EntityRef, EntityText, FileRef
from ragcorp.domain.text.place_words import MAX_WORDS, WORD
from ragcorp.infrastructure.postgres.chunks.rows import database_ids
from ragcorp.infrastructure.postgres.collections import candidate_statements
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.connections.statement_text import execute
from ragcorp.infrastructure.postgres.dense import statements
from ragcorp.infrastructure.postgres.dense.search import MAX_EF_SEARCH, VectorScan
from ragcorp.infrastructure.postgres.structure import neighbours as structure_neighbours
from ragcorp.infrastructure.postgres.structure import statements as sql
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACTS
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, visibility

Key = TypeVar("Key", bound=Hashable)
Match = TypeVar("Match")

MAX_CHUNKS = MAX_EF_SEARCH
"""Nearest chunks searched for entities, at most."""

CHUNKS_AT_FIRST = 2
GROWTH = 4
"""Chunks searched at first per entity wanted, and the factor of each further search if they were too few."""

RELATIONS = {
    structure_neighbours.CALLS: "calls",
    structure_neighbours.CALLED_BY: "called_by",
    structure_neighbours.SAME_FILE: "same_file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _NearWords:
    """Words of near documents, in their stored form."""

    near: list[str]
    shown: list[str]

    @property
    def has_words(self) -> bool:
        return bool(self.near or self.shown)


class PostgresStructureIndex:
    """Each call is one statement in one round trip.

    ``similar`` sends two together, and repeats the second if a few long entities cover all of the nearest chunks.
    Without a model it finds nothing.
    """

    def __init__(self, database: Database, *, scan: VectorScan | None = None) -> None:
        self._database = database
        self._scan = scan

    async def files(
        self,
        names: Sequence[str],
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        near: Sequence[str] = (),
        shown: Sequence[str] = (),
    ) -> Mapping[str, Named[FileRef]]:
        def file(row: Sequence[Any]) -> FileRef:
            document_id, external_id, path, is_code = row
            return FileRef(document_id=document_id, external_id=external_id, path=path, is_code=is_code)

        words = _NearWords(near=_words(near), shown=_words(shown))
        return await self._of_names(sql.files, names, file, principal, filters, words, limit=limit)

    async def named(
        self,
        names: Sequence[str],
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        near: Sequence[str] = (),
        shown: Sequence[str] = (),
    ) -> Mapping[str, Named[EntityRef]]:
        words = _NearWords(near=_words(near), shown=_words(shown))
        return await self._of_names(sql.named, names, _entity, principal, filters, words, limit=limit)

    async def _of_names(
        self,
        statement: Callable[..., str],
        names: Sequence[str],
        read: Callable[[Sequence[Any]], Match],
        principal: Principal,
        filters: Filters,
        words: _NearWords,
        *,
        limit: int,
    ) -> Mapping[str, Named[Match]]:
        distinct = list(dict.fromkeys(names))
        values = {"names": distinct, "limit": limit, "near": words.near, "shown": words.shown}
        rows = await self._rows(partial(statement, near=words.has_words), values, principal, filters)
        of_names: dict[str, list[TupleRow]] = {}
        for row in rows:
            of_names.setdefault(distinct[row[0] - 1], []).append(row)
        return {
            name: Named(
                items=tuple(read(row[3:]) for row in matching),
                matches=matching[0][1],
                nearness=tuple(row[2] for row in matching) if words.near else (),
            )
            for name, matching in of_names.items()
        }

    async def of_documents(
        self, document_ids: Sequence[UUID], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[UUID, tuple[EntityRef, ...]]:
        distinct = list(dict.fromkeys(document_ids))
        values = {"document_ids": distinct, "limit": limit}
        rows = await self._rows(sql.of_documents, values, principal, filters)
        return _grouped((distinct[number - 1], _entity(reference)) for number, *reference in rows)

    async def within(
        self, entities: Sequence[EntityRef], *, principal: Principal, limit: int
    ) -> Mapping[int, tuple[EntityRef, ...]]:
        values = {"ids": [entity.id for entity in entities], "limit": limit}
        rows = await self._rows(sql.within, values, principal)
        return _grouped((of, _entity(reference)) for of, *reference in rows)

    async def existing(
        self, identities: Sequence[EntityIdentity], *, principal: Principal, filters: Filters = ()
    ) -> Mapping[EntityIdentity, EntityRef]:
        distinct = tuple(dict.fromkeys(identities))
        values = {
            "document_ids": [identity.document_id for identity in distinct],
            "keys": [identity.key for identity in distinct],
        }
        entities = [_entity(row) for row in await self._rows(sql.known, values, principal, filters)]
        return {entity.identity: entity for entity in entities}

    async def neighbours(
        self, entities: Sequence[EntityRef], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[int, SyntaxNeighbours]:
        values = {"ids": [entity.id for entity in entities], "limit": limit}
        rows = await self._rows(structure_neighbours.neighbours, values, principal, filters)
        related: dict[int, dict[str, list[EntityRef]]] = {}
        for of, relation, _, *reference in rows:
            related.setdefault(of, {}).setdefault(RELATIONS[relation], []).append(_entity(reference))
        return {
            of: SyntaxNeighbours(**{relation: tuple(refs) for relation, refs in lists.items()})
            for of, lists in related.items()
        }

    async def similar(
        self, embedding: Vector, *, principal: Principal, filters: Filters = (), limit: int
    ) -> tuple[SimilarEntity, ...]:
        passing = _passing(principal, filters)
        scan = self._scan
        if passing is None or scan is None or scan.model is None or limit <= 0:
            return ()
        values = passing.values | {"embedding": PgVector(list(embedding))}
        own = sql.similar_entities(
            model_id=scan.model.id,
            dimensions=scan.model.dimensions,
            limit=limit,
            visible=sql.OWN_VECTORS.visible(principal).sql,
            filtered=passing.sql if len(passing.clauses) > UNFILTERED else None,
        )
        by_chunks = partial(
            sql.similar_by_chunks,
            model_id=scan.model.id,
            dimensions=scan.model.dimensions,
            visible=visibility(principal).sql,
            passing=passing.sql,
        )
        chunks = min(MAX_CHUNKS, limit * CHUNKS_AT_FIRST)
        of_code, (counted, *of_texts) = await self._similar(
            [own, by_chunks(limit=chunks)], values, scan.settings(chunks), principal
        )
        while counted[0] == chunks < MAX_CHUNKS and len({row[1] for row in of_texts}) < limit:
            chunks = min(MAX_CHUNKS, chunks * GROWTH)
            ((counted, *of_texts),) = await self._similar(
                [by_chunks(limit=chunks)], values, scan.settings(chunks), principal
            )
        best: dict[int, SimilarEntity] = {}
        for score, *reference in (*of_code, *of_texts):
            entity = _entity(reference)
            if entity.id not in best or best[entity.id].score < score:
                best[entity.id] = SimilarEntity(entity=entity, score=score)
        ranked = sorted(best.values(), key=lambda similar: (-similar.score, *_place(similar.entity)))
        return tuple(ranked[:limit])

    async def at_chunks(
        self, chunk_ids: Sequence[str], *, principal: Principal, filters: Filters = ()
    ) -> Mapping[str, tuple[EntityRef, ...]]:
        rows = await self._rows(sql.at_chunks, {"chunk_ids": database_ids(chunk_ids)}, principal, filters)
        return _grouped((str(chunk_id), _entity(reference)) for chunk_id, *reference in rows)

    async def texts(self, ids: Sequence[int], *, principal: Principal) -> Mapping[int, EntityText]:
        rows = await self._rows(sql.texts, {"ids": list(ids)}, principal)
        return {
            entity_id: EntityText(
                content=content,
                head=head,
                artifact_hash=bytes(artifact_hash),
                title=title,
                language=language,
                sensitivity=Sensitivity(sensitivity),
                chunk_id=None if chunk_id is None else str(chunk_id),
                cut=cut,
            )
            for entity_id, content, head, artifact_hash, title, language, sensitivity, chunk_id, cut in rows
        }

    async def _rows(
        self, statement: Callable[[str], str], values: Mapping[str, object], principal: Principal, filters: Filters = ()
    ) -> list[TupleRow]:
        """Return the rows of a statement over documents that pass; none without keys, the first of the values."""
        passing = _passing(principal, filters)
        if passing is None or not next(iter(values.values())):
            return []
        return await self._database.fetch(
            statement(passing.sql),
            {**passing.values, **values},
            workspace=principal.workspace,
            settings=candidate_statements.SETTINGS,
        )

    async def _similar(
        self,
        queries: Sequence[str],
        values: Mapping[str, object],
        scan_settings: Mapping[str, str],
        principal: Principal,
    ) -> list[list[TupleRow]]:
        """Execute the statements in one round trip."""

        async def work() -> list[list[TupleRow]]:
            async with self._database.autocommit(principal.workspace) as connection:
                async with connection.pipeline():
                    await connection.execute(candidate_statements.SETTINGS, prepare=True)
                    await connection.execute(statements.SCAN_SETTINGS, scan_settings, prepare=True)
                    cursors = [await execute(connection, statement, values) for statement in queries]
                return [await cursor.fetchall() for cursor in cursors]

        return await self._database.read(work)


def _passing(principal: Principal, filters: Filters = ()) -> Predicate | None:
    """Return the condition on documents d; filters apply to them as to chunks, which have the same text."""
    return ARTIFACTS.passing(principal, filters, place=0, collection=CHUNK_COLLECTION)


_FIELDS = (
    "id", "key", "kind", "name", "container", "path", "document_id", "external_id", "position", "line_start",
    "line_end", "token_count", "head_tokens",
)  # fmt: skip
"""The fields of an EntityRef in the order of ``sql.REFERENCE``."""

UNFILTERED = len(ARTIFACTS.visible(Principal()).clauses)
"""Clauses of a predicate that no filter narrows."""


def _entity(row: Sequence[Any]) -> EntityRef:
    fields = dict(zip(_FIELDS, row, strict=True))
    return EntityRef(**fields | {"kind": EntityKind(fields["kind"])})


def _words(words: Sequence[str]) -> list[str]:
    return [f"{WORD}{word}" for word in dict.fromkeys(words)][:MAX_WORDS]


def _grouped(pairs: Iterable[tuple[Key, EntityRef]]) -> dict[Key, tuple[EntityRef, ...]]:
    groups: dict[Key, list[EntityRef]] = {}
    for key, entity in pairs:
        groups.setdefault(key, []).append(entity)
    return {key: tuple(entities) for key, entities in groups.items()}


def _place(entity: EntityRef) -> tuple[bytes, bytes, int]:
    return entity.path.encode(), entity.external_id.encode(), entity.position
