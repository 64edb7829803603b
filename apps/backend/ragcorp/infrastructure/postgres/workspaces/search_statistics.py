"""Refreshes the snapshots that ranking uses: document frequencies, lexicon, mean vector."""

from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense.similarity_scores import MEAN_IS_STALE, STORE_MEAN
from ragcorp.infrastructure.postgres.lexical.bm25_statistics import PostgresSparseStatistics

REFRESH_LEXICON = "SELECT refresh_lexicon(%(workspace)s)"


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
