"""Vectors of texts that a transaction has just written: taken from the cache, or enqueued in the embedding backlog."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, AsyncCursor

from ragcorp.infrastructure.postgres.embeddings.cache import MARK_USED
from ragcorp.infrastructure.postgres.tables.embedded import LACKS_ACTIVE_VECTOR, EmbeddedTable

REUSE_CACHED_VECTORS = f"""
    WITH cached AS (
        SELECT i.id, cache.workspace, cache.content_hash, cache.model_id, cache.embedding
        FROM {{items}} i
        JOIN embedding_models m ON m.active
        JOIN embedding_cache cache
          ON cache.workspace = i.workspace AND cache.content_hash = i.content_hash AND cache.model_id = m.id
        WHERE i.document_id = ANY(%(document_ids)s)),
    {MARK_USED}
    INSERT INTO {{embeddings}} ({{key}}, model_id, workspace, embedding)
    SELECT id, model_id, workspace, embedding FROM cached
"""

ENQUEUE_OF_DOCUMENTS = f"""
    INSERT INTO {{backlog}} ({{backlog_columns}})
    SELECT {{backlog_values}} FROM {{items}} i
    WHERE i.document_id = ANY(%(document_ids)s) AND {{wanted}} AND {LACKS_ACTIVE_VECTOR}
"""

ENQUEUE_ITEMS = f"""
    WITH without AS (
        SELECT i.id, i.workspace FROM {{items}} i WHERE i.id = ANY(%(ids)s) AND {LACKS_ACTIVE_VECTOR}),
    done AS (
        DELETE FROM {{backlog}} WHERE item_id = ANY(%(ids)s) AND item_id NOT IN (SELECT id FROM without))
    INSERT INTO {{backlog}} (item_id, workspace) SELECT id, workspace FROM without ORDER BY id
    ON CONFLICT (item_id) DO UPDATE SET attempts = 0, failed = false, reason = NULL, available_at = clock_timestamp()
"""
"""Does not look into the cache: an item that waits for no vector would reveal that another item has, or had, its text.
The worker takes known vectors over later."""


async def reuse_or_enqueue(cursor: AsyncCursor[Any], table: EmbeddedTable, document_ids: Sequence[UUID]) -> None:
    """Give the rows of new documents their cached vectors, and enqueue the others."""
    values = {"document_ids": list(document_ids)}
    await cursor.execute(table.sql(REUSE_CACHED_VECTORS), values)
    await cursor.execute(table.sql(ENQUEUE_OF_DOCUMENTS), values)


async def enqueue_items(connection: AsyncConnection[Any], table: EmbeddedTable, ids: Sequence[int]) -> None:
    """Enqueue those of the items that have no vector, and take the others off the backlog."""
    await connection.execute(table.sql(ENQUEUE_ITEMS), {"ids": list(ids)})
