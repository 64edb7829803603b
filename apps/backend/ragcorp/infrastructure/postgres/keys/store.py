"""The ports KeyStore and TokenUsageStore. Keys of all workspaces: a credential names none before it is verified."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from psycopg.rows import TupleRow

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.keys import ApiKey, Scope
from ragcorp.domain.ports.keys import StoredKey, TokenAccount
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database

OF_THE_DATABASE = "SELECT secret FROM key_secret"

ADD = """
    INSERT INTO api_keys (id, workspace, name, subject, groups, clearance, scopes, digest, created_at, expires_at)
    VALUES (%(id)s, %(workspace)s, %(name)s, %(subject)s, %(groups)s, %(clearance)s, %(scopes)s, %(digest)s,
            %(created_at)s, %(expires_at)s)
"""

COLUMNS = """id, name, workspace, subject, groups, clearance, scopes, created_at, expires_at, revoked_at,
           last_used_at, digest"""

FIND = f"SELECT {COLUMNS} FROM api_keys WHERE id = %(id)s"

LIST = f"""
    SELECT {COLUMNS} FROM api_keys
    WHERE workspace = %(workspace)s OR %(workspace)s::text IS NULL
    ORDER BY created_at DESC, id
"""

REVOKE = "UPDATE api_keys SET revoked_at = coalesce(revoked_at, %(at)s) WHERE id = %(id)s"

USED = "UPDATE api_keys SET last_used_at = greatest(last_used_at, %(at)s) WHERE id = %(id)s"

ANY_EXISTS = "SELECT EXISTS (SELECT FROM api_keys)"

USED_TOKENS = "SELECT tokens FROM token_usage WHERE workspace = %(workspace)s AND key_id = %(key_id)s AND day = %(day)s"

ADD_TOKENS = """
    INSERT INTO token_usage AS u (workspace, key_id, day, tokens)
    SELECT k.workspace, k.id, given.day, given.tokens
    FROM unnest(%(keys)s::text[], %(days)s::date[], %(tokens)s::bigint[]) AS given (key_id, day, tokens)
    JOIN api_keys k ON k.id = given.key_id
    ORDER BY k.id, given.day
    ON CONFLICT (key_id, day) DO UPDATE SET tokens = u.tokens + excluded.tokens
"""
"""In one order, so that two processes do not wait for each other."""


class PostgresKeyStore:
    """Keys of all workspaces, in ``api_keys``."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def secret(self) -> bytes:
        rows = await self._rows(OF_THE_DATABASE)
        if not rows:
            raise StorageUnavailableError(
                "The database lacks the secret of its keys' digests.",
                reason="schema",
                remedy="Restore the table key_secret from a backup, or set KEYS_SECRET and create new keys.",
            )
        return bytes(rows[0][0])

    async def add(self, stored: StoredKey) -> None:
        key = stored.key
        values = {
            "id": key.id,
            "workspace": key.principal.workspace,
            "name": key.name,
            "subject": key.principal.subject,
            "groups": sorted(key.principal.groups),
            "clearance": int(key.principal.clearance),
            "scopes": sorted(key.scopes),
            "digest": stored.digest,
            "created_at": key.created_at,
            "expires_at": key.expires_at,
        }
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(ADD, values)

    async def find(self, key_id: str) -> StoredKey | None:
        rows = await self._rows(FIND, id=key_id)
        return StoredKey(key=_key(rows[0]), digest=bytes(rows[0][-1])) if rows else None

    async def list(self, *, workspace: str | None = None) -> Sequence[ApiKey]:
        return [_key(row) for row in await self._rows(LIST, workspace=workspace)]

    async def revoke(self, key_id: str, *, at: datetime) -> bool:
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            return (await connection.execute(REVOKE, {"id": key_id, "at": at})).rowcount > 0

    async def used(self, key_id: str, *, at: datetime) -> None:
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(USED, {"id": key_id, "at": at})

    async def any_exists(self) -> bool:
        ((exists,),) = await self._rows(ANY_EXISTS)
        return bool(exists)

    async def _rows(self, statement: str, **values: object) -> Sequence[TupleRow]:
        return await self._database.fetch(statement, values, workspace=EVERY_WORKSPACE)


class PostgresTokenUsage:
    """Sums of tokens by key and day."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def used(self, account: TokenAccount, *, day: date) -> int:
        values = {"workspace": account.workspace, "key_id": account.key_id, "day": day}
        rows = await self._database.fetch(USED_TOKENS, values, workspace=account.workspace)
        return int(rows[0][0]) if rows else 0

    async def add(self, tokens: Mapping[tuple[TokenAccount, date], int]) -> None:
        values = {
            "keys": [account.key_id for account, _ in tokens],
            "days": [day for _, day in tokens],
            "tokens": list(tokens.values()),
        }
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            await connection.execute(ADD_TOKENS, values)


def _key(row: TupleRow) -> ApiKey:
    key_id, name, workspace, subject, groups, clearance, scopes, created_at, expires_at, revoked_at, used_at, _ = row
    return ApiKey(
        id=key_id,
        name=name,
        principal=Principal(
            workspace=workspace, subject=subject, groups=frozenset(groups), clearance=Sensitivity(clearance)
        ),
        scopes=frozenset(Scope(scope) for scope in scopes if scope in set(Scope)),
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
        last_used_at=used_at,
    )
