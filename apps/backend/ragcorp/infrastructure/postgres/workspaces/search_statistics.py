"""Refreshes the snapshots that ranking uses: document frequencies, mean vector, lexicon. Writes are not blocked.

The view ``search_statistics`` (migration 021) tells which of them are due.
"""

from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense.similarity_scores import MEAN_IS_STALE, STORE_MEAN

REFRESH_LEXICON = "SELECT refresh_lexicon(%(workspace)s)"

NO_TIMEOUT = "SELECT set_config('statement_timeout', '0', true)"
"""Counting a million chunks takes about a minute, and their words several: longer than the pool's timeout."""

MAX_CHANGES = 500
"""Rows of ``bm25_changes`` that every query of a workspace adds up; more are merged into one."""

STATE = f"""
    SELECT frequencies_are_stale, lexicon_is_stale, mean_may_be_stale,
           (SELECT count(*) FROM (
               SELECT FROM bm25_changes c JOIN bm25_workspaces w ON w.id = c.workspace_id
               WHERE w.workspace = %(workspace)s LIMIT {MAX_CHANGES + 1}) AS counted)
    FROM search_statistics WHERE workspace = %(workspace)s
"""

LOCK_MEAN = "SELECT pg_try_advisory_xact_lock(hashtext('workspace_means'), hashtext(%(workspace)s))"


class PostgresSparseStatistics:
    """Document frequencies of a workspace."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def refresh_if_stale(self, workspace: str) -> bool:
        """Refresh if changes exceed 5 % of the chunks counted last; return whether it did."""
        rows = await self._database.fetch(STATE, {"workspace": workspace}, workspace=workspace)
        is_stale, *_, changes = rows[0] if rows else (False, 0)
        if is_stale:
            return await self._refresh("SELECT bm25_refresh(%(workspace)s, true)", workspace)
        if changes > MAX_CHANGES:
            await self._alone("SELECT bm25_compact(%(workspace)s)", workspace)
        return False

    async def refresh(self, workspace: str) -> bool:
        """Count again and flush the index; return False if another session is doing so, or nothing is indexed."""
        return await self._refresh("SELECT bm25_refresh(%(workspace)s)", workspace)

    async def _refresh(self, statement: str, workspace: str) -> bool:
        refreshed = await self._alone(statement, workspace)
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

    async def refresh_if_stale(self, workspace: str) -> bool:
        """Refresh what is due; return False if something still is."""
        values = {"workspace": workspace}
        await self._sparse.refresh_if_stale(workspace)
        state = await self._database.fetch(STATE, values, workspace=workspace)
        if not state:
            return True
        frequencies_are_stale, lexicon_is_stale, mean_may_be_stale, _ = state[0]
        if lexicon_is_stale:
            async with self._database.transaction(workspace) as connection:
                await connection.execute(NO_TIMEOUT)
                await connection.execute(REFRESH_LEXICON, values)
        has_mean = not mean_may_be_stale or await self._refresh_mean(workspace)
        return has_mean and not frequencies_are_stale

    async def _refresh_mean(self, workspace: str) -> bool:
        values = {"workspace": workspace}
        async with self._database.transaction(workspace) as connection:
            await connection.execute(NO_TIMEOUT)
            for condition in (LOCK_MEAN, MEAN_IS_STALE):
                row = await (await connection.execute(condition, values)).fetchone()
                if not (row and row[0]):
                    return False
            await connection.execute(STORE_MEAN, values)
        return True
