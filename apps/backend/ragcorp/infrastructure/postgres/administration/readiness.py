"""Reads what a search requires of the database, in one statement."""

from __future__ import annotations

from typing import Any

from ragcorp.domain.diagnosis import SearchFacts
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.administration.migrations import VERSION
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.connections.indexes import INVALID_INDEXES_IN_USE

LOOK = f"""
    SELECT ({VERSION}),
        ARRAY(SELECT dimensions FROM embedding_models WHERE name = %s),
        ARRAY({INVALID_INDEXES_IN_USE})::text[],
        EXISTS (SELECT 1 FROM pg_ts_config WHERE cfgname = 'spanish')
"""


async def look(database: Database, *, model: EmbeddingModel) -> SearchFacts:
    """Raises StorageUnavailableError, of reason ``schema`` for a database that holds none."""

    async def looked() -> tuple[Any, ...] | None:
        async with database.autocommit(EVERY_WORKSPACE) as connection:
            return await (await connection.execute(LOOK.encode(), (model.name,))).fetchone()

    row = await database.read(looked)
    revision, widths, invalid, has_spanish = row or (None, [], [], False)
    return SearchFacts(
        revision=revision, widths=tuple(widths), invalid_indexes=tuple(invalid), has_spanish=bool(has_spanish)
    )
