"""Refreshes the snapshots that ranking uses: document frequencies, lexicon, mean vector. Writes are not blocked."""

from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense.similarity_scores import MEAN_IS_STALE, STORE_MEAN

REFRESH_LEXICON = "SELECT refresh_lexicon(%(workspace)s)"

NO_TIMEOUT = "SELECT set_config('statement_timeout', '0', true)"
"""Counting a million chunks takes about a minute, longer than the pool's timeout."""

MAX_CHANGES = 500
"""Rows of ``bm25_changes`` that every query of a workspace adds up; more are merged into one."""

STATE = f"""
    SELECT bm25_needs_refresh(%(workspace)s),
           (SELECT count(*) FROM (
               SELECT FROM bm25_changes c JOIN bm25_workspaces w ON w.id = c.workspace_id
               WHERE w.workspace = %(workspace)s LIMIT {MAX_CHANGES + 1}) AS counted)
"""


class PostgresSparseStatistics:
    """Statistics of a workspace; one session at a time refreshes them, others use the last ones."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def refresh_if_stale(self, workspace: str) -> bool:
        """Refresh if changes exceed 5 % of the chunks counted last; return whether it did."""
        ((is_stale, changes),) = await self._database.fetch(STATE, {"workspace": workspace}, workspace=workspace)
        if is_stale:
            return await self.refresh(workspace)
        if changes > MAX_CHANGES:
            await self._alone("SELECT bm25_compact(%(workspace)s)", workspace)
        return False

    async def refresh(self, workspace: str) -> bool:
        """Count again and flush the index; return False if another session is doing so, or nothing is indexed."""
        refreshed = await self._alone("SELECT bm25_refresh(%(workspace)s)", workspace)
        if refreshed:
            await self._alone("SELECT bm25_flush()", workspace)
        return refreshed

    async def _alone(self, statement: str, workspace: str) -> bool:
        async with self._database.transaction(workspace) as connection:
            await connection.execute(NO_TIMEOUT)
            row: TupleRow | None = await (await connection.execute(statement, {"workspace": workspace})).fetchone()
        return bool(row and row[0])


class PostgresSearchStatistics:
    """Refreshes each part when due, in one session at a time; queries use the last snapshot meanwhile."""

    def __init__(self, *, database: Database) -> None:
        self._database = database
        self._sparse = PostgresSparseStatistics(database=database)

    async def refresh_if_stale(self, workspace: str) -> None:
        await self._sparse.refresh_if_stale(workspace)
        values = {"workspace": workspace}
        async with self._database.transaction(workspace) as connection:
            await connection.execute(REFRESH_LEXICON, values)
        async with self._database.transaction(workspace) as connection:
            stale = await (await connection.execute(MEAN_IS_STALE, values)).fetchone()
            if stale and stale[0]:
                await connection.execute(STORE_MEAN, values)
