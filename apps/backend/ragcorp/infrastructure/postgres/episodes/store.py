"""The port EpisodeStore over PostgreSQL. Entities are stored without text, which is read from their documents."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID

from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from ragcorp.domain.exceptions import NotFoundError, StorageUnavailableError
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import EntityIdentity, EntityRef
from ragcorp.domain.structure.hydration import (
    SHOWN_CHARACTERS,
    DroppedEntity,
    DropReason,
    HydratedEntity,
    Hydration,
    HydrationLimits,
    HydrationUse,
    HydrationWarning,
    RecordedEntity,
    RecordedTurn,
    WarningCode,
)
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

HYDRATED = """
    SELECT document_id, entity_key
    FROM (
        SELECT DISTINCT ON (h.document_id, h.entity_key) h.document_id, h.entity_key, t.turn, h.number
        FROM episodes e
        JOIN hydration_turns t ON t.episode = e.id
        JOIN hydrated_entities h ON h.turn_id = t.id AND h.dropped IS NULL
        WHERE e.workspace = %(workspace)s AND e.subject = %(subject)s AND e.episode_id = %(episode_id)s
        ORDER BY h.document_id, h.entity_key, t.turn DESC, h.number) AS latest
    ORDER BY turn DESC, number
    LIMIT %(limit)s
"""

NEXT_TURN = """
    INSERT INTO episodes AS e (workspace, subject, episode_id, turns)
    VALUES (%(workspace)s, %(subject)s, %(episode_id)s, 1)
    ON CONFLICT (workspace, subject, episode_id) DO UPDATE SET turns = e.turns + 1
    RETURNING id, turns
"""

INSERT_TURN = """
    INSERT INTO hydration_turns (episode, turn, query, model, budget, warnings)
    VALUES (%(episode)s, %(turn)s, %(query)s, %(model)s, %(budget)s, %(warnings)s)
    RETURNING id
"""

INSERT_ENTITY = """
    INSERT INTO hydrated_entities (
        turn_id, number, document_id, entity_key, kind, artifact_hash, reasons, priority, tokens, cut, dropped)
    SELECT %(turn_id)s, %(number)s, d.id, %(key)s, %(kind)s, coalesce(%(artifact_hash)s::bytea, d.content_hash),
           %(reasons)s::text[], %(priority)s, %(tokens)s, %(cut)s, %(dropped)s
    FROM documents d WHERE d.id = %(document_id)s AND d.workspace = %(workspace)s
    FOR KEY SHARE
"""
"""Entities of a document that was purged meanwhile are skipped."""

TURN = """
    SELECT t.id, t.turn, e.turns, t.query, t.created_at, t.model, t.budget, t.warnings
    FROM episodes e JOIN hydration_turns t ON t.episode = e.id
    WHERE e.workspace = %(workspace)s AND e.subject = %(subject)s AND e.episode_id = %(episode_id)s
      AND t.turn = coalesce(%(turn)s, t.turn)
    ORDER BY t.turn DESC
    LIMIT 1
"""

TURNS = """
    SELECT min(t.turn), max(t.turn)
    FROM episodes e JOIN hydration_turns t ON t.episode = e.id
    WHERE e.workspace = %(workspace)s AND e.subject = %(subject)s AND e.episode_id = %(episode_id)s
"""

READABLE = """
    SELECT d.id FROM documents d WHERE d.id = ANY(%(ids)s) AND d.deleted_at IS NULL AND {condition}
"""

ENTITIES = f"""
    SELECT h.number, h.document_id, h.entity_key, h.kind, coalesce(r.path, d.path, d.external_id), d.external_id,
           h.reasons, h.priority, h.tokens, h.cut, h.dropped,
           left(CASE WHEN h.cut OR h.dropped IS NOT NULL THEN s.head ELSE s.content END, {SHOWN_CHARACTERS}),
           d.deleted_at IS NULL AND {{condition}}
    FROM hydrated_entities h
    JOIN documents d ON d.id = h.document_id
    LEFT JOIN structured_documents r ON r.document_id = d.id
    LEFT JOIN structural_entities s ON s.document_id = d.id AND s.entity_key = h.entity_key
    WHERE h.turn_id = %(turn_id)s
    ORDER BY h.number
"""

PURGE = "DELETE FROM hydration_turns WHERE created_at < now() - make_interval(secs => %(seconds)s)"

LOCK_EMPTY = """
    SELECT id FROM episodes e WHERE NOT EXISTS (SELECT FROM hydration_turns t WHERE t.episode = e.id)
    FOR UPDATE SKIP LOCKED
"""

PURGE_EMPTY = """
    DELETE FROM episodes e
    WHERE e.id = ANY(%(ids)s) AND NOT EXISTS (SELECT FROM hydration_turns t WHERE t.episode = e.id)
"""
"""A separate statement: its snapshot includes the turn of a concurrent recording that the lock waited for."""


_dumps = partial(json.dumps, default=str)


class PostgresEpisodeStore:
    """Episodes, their turns, and the entities of each turn by identity."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def hydrated(self, episode_id: str, *, principal: Principal, limit: int) -> tuple[EntityIdentity, ...]:
        values = _episode_key(episode_id, principal) | {"limit": limit}
        rows = await self._database.fetch(HYDRATED, values, workspace=principal.workspace)
        return tuple(EntityIdentity(document_id=row[0], key=row[1]) for row in rows)

    async def record(self, hydration: Hydration, *, query: str, principal: Principal) -> int:
        rows = [*map(_shown_row, hydration.entities), *map(_dropped_row, hydration.dropped)]
        async with self._database.transaction(principal.workspace) as connection:
            episode = await (
                await connection.execute(NEXT_TURN, _episode_key(hydration.episode_id, principal))
            ).fetchone()
            if episode is None:
                raise StorageUnavailableError("The episode could not be stored.", reason="error")
            turn = {
                "episode": episode[0],
                "turn": episode[1],
                "query": query,
                "model": hydration.model,
                "budget": Jsonb(asdict(hydration.use)),
                "warnings": Jsonb([asdict(warning) for warning in hydration.warnings], dumps=_dumps),
            }
            stored = await (await connection.execute(INSERT_TURN, turn)).fetchone()
            common = {"turn_id": stored[0] if stored else None, "workspace": principal.workspace}
            await connection.cursor().executemany(
                INSERT_ENTITY, [{**row, **common, "number": number} for number, row in enumerate(rows, start=1)]
            )
        return int(episode[1])

    async def read(self, episode_id: str, *, principal: Principal, turn: int | None = None) -> RecordedTurn:
        values = _episode_key(episode_id, principal) | {"turn": turn}
        visible = visibility(principal, alias="d")

        async def work() -> tuple[TupleRow, list[TupleRow], frozenset[str]]:
            async with self._database.autocommit(principal.workspace) as connection:
                turn_row = await (await connection.execute(TURN, values)).fetchone()
                if turn_row is None:
                    raise _missing(await (await connection.execute(TURNS, values)).fetchone())
                cursor = await connection.execute(*visible.bind(ENTITIES, turn_id=turn_row[0]))
                rows = await cursor.fetchall()
                warned = [UUID(warning["document_id"]) for warning in turn_row[-1] if warning["document_id"]]
                cursor = await connection.execute(*visible.bind(READABLE, ids=warned))
                return turn_row, rows, frozenset(str(row[0]) for row in await cursor.fetchall())

        turn_row, rows, readable = await self._database.read(work)
        _, number, turns, query, created_at, model, budget, warnings = turn_row
        visible_entities = [_recorded(row) for row in rows if row[-1]]
        return RecordedTurn(
            episode_id=episode_id,
            turn=number,
            turns=turns,
            query=query,
            created_at=created_at,
            model=model,
            entities=tuple(entity for entity in visible_entities if entity.budget is None),
            dropped=tuple(entity for entity in visible_entities if entity.budget is not None),
            warnings=tuple(_warning(warning) for warning in warnings if warning["document_id"] in {None, *readable}),
            use=HydrationUse(**{**budget, "limits": HydrationLimits(**budget["limits"])}),
            withheld=len(rows) - len(visible_entities),
        )

    async def purge(self, *, older_than_days: float) -> int:
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            purged = (await connection.execute(PURGE, {"seconds": older_than_days * 86_400.0})).rowcount
            empty = await (await connection.execute(LOCK_EMPTY)).fetchall()
            await connection.execute(PURGE_EMPTY, {"ids": [row[0] for row in empty]})
        return purged


def _episode_key(episode_id: str, principal: Principal) -> dict[str, object]:
    return {"workspace": principal.workspace, "subject": principal.subject, "episode_id": episode_id}


def _shown_row(entity: HydratedEntity) -> dict[str, object]:
    planned = entity.planned
    row = _entity_row(planned.entity, planned.reasons, priority=planned.priority, tokens=planned.tokens)
    return row | {"artifact_hash": entity.text.artifact_hash, "cut": planned.cut, "dropped": None}


def _dropped_row(dropped: DroppedEntity) -> dict[str, object]:
    row = _entity_row(dropped.entity, dropped.reasons, priority=dropped.priority, tokens=dropped.tokens)
    return row | {"artifact_hash": None, "cut": False, "dropped": dropped.budget.value}


def _entity_row(entity: EntityRef, reasons: Sequence[str], *, priority: int, tokens: int) -> dict[str, object]:
    return {
        "document_id": entity.document_id,
        "key": entity.key,
        "kind": entity.kind.value,
        "reasons": list(reasons),
        "priority": priority,
        "tokens": tokens,
    }


def _recorded(row: TupleRow) -> RecordedEntity:
    position, document_id, key, kind, path, external_id, reasons, priority, tokens, cut, dropped, content, _ = row
    return RecordedEntity(
        identity=EntityIdentity(document_id=document_id, key=key),
        kind=kind,
        path=path,
        external_id=external_id,
        reasons=tuple(reasons),
        priority=priority,
        tokens=tokens,
        position=position,
        cut=cut,
        content=content,
        budget=None if dropped is None else DropReason(dropped),
    )


def _warning(stored: dict[str, Any]) -> HydrationWarning:
    return HydrationWarning(
        code=WarningCode(stored["code"]),
        message=stored["message"],
        key=stored["key"],
        document_id=None if stored["document_id"] is None else UUID(stored["document_id"]),
    )


def _missing(turns: TupleRow | None) -> NotFoundError:
    if turns is None or turns[0] is None:
        return NotFoundError(
            "There is no such episode.",
            field="episode_id",
            remedy="Name the episode_id of a search or question of your own that is not too long ago.",
        )
    return NotFoundError(
        "The episode has no such turn.",
        field="turn",
        limit=f"{turns[0]} to {turns[1]}",
        remedy="Choose one of those, or leave it out for the latest.",
    )
