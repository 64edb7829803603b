"""The port KeyStore over PostgreSQL. A credential names no workspace before it is known: it serves all of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg.rows import TupleRow

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.keys import ApiKey, Scope
from ragcorp.domain.ports.keys import StoredKey
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


class PostgresKeyStore:
    """Keys of all workspaces, in ``api_keys``."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def secret(self) -> bytes:
        row = await self._row(OF_THE_DATABASE)
        if row is None:
            raise StorageUnavailableError(
                "The database has lost the secret under which keys are stored.",
                reason="schema",
                remedy="Restore the table key_secret from a backup, or set KEYS_SECRET and make new keys.",
            )
        return bytes(row[0])

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
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(ADD, values)

    async def find(self, key_id: str) -> StoredKey | None:
        row = await self._row(FIND, id=key_id)
        return None if row is None else StoredKey(key=_key(row), digest=bytes(row[-1]))

    async def list(self, *, workspace: str | None = None) -> Sequence[ApiKey]:
        async def work() -> list[TupleRow]:
            async with self._database.autocommit(EVERY_WORKSPACE) as connection:
                return await (await connection.execute(LIST, {"workspace": workspace})).fetchall()

        return [_key(row) for row in await self._database.read(work)]

    async def revoke(self, key_id: str, *, at: datetime) -> bool:
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            return (await connection.execute(REVOKE, {"id": key_id, "at": at})).rowcount > 0

    async def used(self, key_id: str, *, at: datetime) -> None:
        async with self._database.driver_transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(USED, {"id": key_id, "at": at})

    async def any_exists(self) -> bool:
        row = await self._row(ANY_EXISTS)
        return row is not None and bool(row[0])

    async def _row(self, statement: str, **values: Any) -> TupleRow | None:
        async def work() -> TupleRow | None:
            async with self._database.autocommit(EVERY_WORKSPACE) as connection:
                return await (await connection.execute(statement.encode(), values)).fetchone()

        return await self._database.read(work)


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
