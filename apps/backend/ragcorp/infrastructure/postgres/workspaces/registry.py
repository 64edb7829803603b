"""The port Workspaces over PostgreSQL, and the languages of their queries (migration 006)."""

import asyncio

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.dense.similarity_scores import STORE_MEAN
from ragcorp.infrastructure.postgres.workspaces.search_statistics import REFRESH_LEXICON, PostgresSparseStatistics

LOCK_OUT_REFRESHES = (
    """SELECT pg_advisory_xact_lock(hashtext('bm25_refresh'), id) FROM bm25_workspaces
       WHERE workspace = %(workspace)s""",
    "LOCK TABLE workspace_means, lexicon, lexicon_progress IN SHARE ROW EXCLUSIVE MODE",
)
"""Locks out refreshes, which must not write after the removal."""

_REMOVED_TABLES = (
    "folder_files",
    "episodes",  # cascades to turns and their entities
    "documents",  # cascades to everything of them
    "memory_items",  # cascades to vectors and backlog
    "history_turns",
    "entities",  # cascades to facts
    *("fact_extractions", "embedding_cache", "workspace_means", "lexicon", "lexicon_progress"),
    *("chunk_languages", "default_languages"),
)

REMOVE = (
    *(f"DELETE FROM {table} WHERE workspace = %(workspace)s" for table in _REMOVED_TABLES),
    *(
        f"DELETE FROM {table} b USING bm25_workspaces w WHERE w.id = b.workspace_id AND w.workspace = %(workspace)s"
        for table in ("bm25_changes", "bm25_statistics")
    ),
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

QUERY_LANGUAGES = "SELECT query_languages(%(workspace)s, %(default)s)"

SET_DEFAULT = """
    INSERT INTO default_languages (workspace, language) VALUES (%(workspace)s, %(language)s)
    ON CONFLICT (workspace) DO UPDATE SET language = excluded.language
"""

CLEAR_DEFAULT = "DELETE FROM default_languages WHERE workspace = %(workspace)s"

ATTEMPTS = 100
RETRY_SECONDS = 0.2


class PostgresWorkspaces:
    """Selects rows by their column ``workspace``."""

    def __init__(self, *, database: Database) -> None:
        self._database = database
        self._sparse = PostgresSparseStatistics(database=database)

    async def remove(self, workspace: str) -> None:
        async with self._database.transaction(workspace) as connection:
            for statement in (*LOCK_OUT_REFRESHES, *REMOVE):
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


class WorkspaceLanguages:
    """The operator's choice of a language, then those that its chunks are in."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def query_languages(self, workspace: str, *, default: str) -> tuple[str, ...]:
        """Return the workspace's default language, else ``default``, then the others that its chunks are in."""
        values = {"workspace": workspace, "default": default}
        rows = await self._database.fetch(QUERY_LANGUAGES, values, workspace=workspace)
        return tuple(rows[0][0]) if rows else (default,)

    async def set_default(self, workspace: str, language: str | None) -> None:
        """Set the language (ISO 639-1) that queries of the workspace are first read in; None: that of the settings."""
        statement = CLEAR_DEFAULT if language is None else SET_DEFAULT
        async with self._database.transaction(workspace) as connection:
            await connection.execute(statement, {"workspace": workspace, "language": language})
