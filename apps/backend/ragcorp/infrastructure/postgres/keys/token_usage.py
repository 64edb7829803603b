"""The port TokenUsageStore over PostgreSQL."""

from collections.abc import Mapping
from datetime import date

from ragcorp.domain.ports.keys import TokenAccount
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database

USED = "SELECT tokens FROM token_usage WHERE workspace = %(workspace)s AND key_id = %(key_id)s AND day = %(day)s"

ADD = """
    INSERT INTO token_usage AS u (workspace, key_id, day, tokens)
    SELECT k.workspace, k.id, given.day, given.tokens
    FROM unnest(%(keys)s::text[], %(days)s::date[], %(tokens)s::bigint[]) AS given (key_id, day, tokens)
    JOIN api_keys k ON k.id = given.key_id
    ORDER BY k.id, given.day
    ON CONFLICT (key_id, day) DO UPDATE SET tokens = u.tokens + excluded.tokens
"""
"""In one order, so that two processes do not wait for each other."""


class PostgresTokenUsage:
    """Sums of tokens by key and day."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def used(self, account: TokenAccount, *, day: date) -> int:
        values = {"workspace": account.workspace, "key_id": account.key_id, "day": day}
        rows = await self._database.fetch(USED, values, workspace=account.workspace)
        return int(rows[0][0]) if rows else 0

    async def add(self, tokens: Mapping[tuple[TokenAccount, date], int]) -> None:
        values = {
            "keys": [account.key_id for account, _ in tokens],
            "days": [day for _, day in tokens],
            "tokens": list(tokens.values()),
        }
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            await connection.execute(ADD, values)
