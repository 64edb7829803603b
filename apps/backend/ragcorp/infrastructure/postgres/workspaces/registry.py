"""The port Workspaces over PostgreSQL."""

import asyncio

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.dense.similarity_scores import STORE_MEAN
from ragcorp.infrastructure.postgres.lexical.bm25_statistics import PostgresSparseStatistics
from ragcorp.infrastructure.postgres.workspaces.search_statistics import REFRESH_LEXICON

HOLD_OFF_REFRESHES = (
    """SELECT pg_advisory_xact_lock(hashtext('bm25_refresh'), id) FROM bm25_workspaces
       WHERE workspace = %(workspace)s""",
    "LOCK TABLE workspace_means, lexicon, lexicon_progress IN SHARE ROW EXCLUSIVE MODE",
)
"""Locks out refreshes, which must not write after the removal."""

REMOVE = (
    "DELETE FROM folder_files WHERE workspace = %(workspace)s",
    "DELETE FROM episodes WHERE workspace = %(workspace)s",  # cascades to turns and their entities
    "DELETE FROM documents WHERE workspace = %(workspace)s",  # cascades to everything of them
    "DELETE FROM memory_items WHERE workspace = %(workspace)s",  # cascades to vectors and backlog
    "DELETE FROM history_turns WHERE workspace = %(workspace)s",
    "DELETE FROM entities WHERE workspace = %(workspace)s",  # cascades to facts
    "DELETE FROM fact_extractions WHERE workspace = %(workspace)s",
    "DELETE FROM embedding_cache WHERE workspace = %(workspace)s",
    "DELETE FROM workspace_means WHERE workspace = %(workspace)s",
    "DELETE FROM lexicon WHERE workspace = %(workspace)s",
    "DELETE FROM lexicon_progress WHERE workspace = %(workspace)s",
    "DELETE FROM chunk_languages WHERE workspace = %(workspace)s",
    "DELETE FROM default_languages WHERE workspace = %(workspace)s",
    """DELETE FROM bm25_changes c USING bm25_workspaces w
       WHERE w.id = c.workspace_id AND w.workspace = %(workspace)s""",
    """DELETE FROM bm25_statistics s USING bm25_workspaces w
       WHERE w.id = s.workspace_id AND w.workspace = %(workspace)s""",
    "DELETE FROM bm25_workspaces WHERE workspace = %(workspace)s",
)

HAS_CHUNKS = "SELECT EXISTS (SELECT FROM chunks WHERE workspace = %(workspace)s)"

CONTENTS = " UNION ALL ".join(
    f"SELECT workspace, updated_at FROM {table}" for table in ("documents", "memory_items", "history_turns")
)

ABANDONED = f"""
    SELECT workspace FROM ({CONTENTS}) AS contents
    WHERE workspace ~ ('^(?:' || %(pattern)s || ')$')
    GROUP BY workspace
    HAVING max(updated_at) < now() - make_interval(secs => %(seconds)s)
    ORDER BY workspace
"""

VECTORS = """
    SELECT e.embedding
    FROM chunk_embeddings e JOIN embedding_models m ON m.id = e.model_id AND m.active
    WHERE e.workspace = %(workspace)s
    ORDER BY e.chunk_id
    LIMIT %(limit)s
"""

ATTEMPTS = 100
RETRY_SECONDS = 0.2


class PostgresWorkspaces:
    """Selects rows by their column ``workspace``."""

    def __init__(self, *, database: Database) -> None:
        self._database = database
        self._sparse = PostgresSparseStatistics(database=database)

    async def remove(self, workspace: str) -> None:
        async with self._database.transaction(workspace) as connection:
            for statement in (*HOLD_OFF_REFRESHES, *REMOVE):
                await connection.execute(statement, {"workspace": workspace})

    async def abandoned(self, pattern: str, *, older_than_days: float) -> list[str]:
        values = {"pattern": pattern, "seconds": older_than_days * 86_400.0}
        rows = await self._database.fetch(ABANDONED, values, workspace=EVERY_WORKSPACE)
        return [workspace for (workspace,) in rows]

    async def refresh_statistics(self, workspace: str) -> None:
        """Raises StorageUnavailableError if other sessions keep refreshing the workspace."""
        ((has_chunks,),) = await self._database.fetch(HAS_CHUNKS, {"workspace": workspace}, workspace=workspace)
        if not has_chunks:
            return
        for _ in range(ATTEMPTS):
            if await self._sparse.refresh(workspace):
                break
            await asyncio.sleep(RETRY_SECONDS)
        else:
            raise StorageUnavailableError("The statistics of a workspace could not be refreshed.", reason="timeout")
        for statement in (REFRESH_LEXICON, STORE_MEAN):
            async with self._database.transaction(workspace) as connection:
                await connection.execute(statement, {"workspace": workspace})

    async def vectors(self, workspace: str, *, limit: int) -> list[Vector]:
        values = {"workspace": workspace, "limit": limit}
        rows = await self._database.fetch(VECTORS, values, workspace=workspace)
        return [tuple(embedding.to_list()) for (embedding,) in rows]
