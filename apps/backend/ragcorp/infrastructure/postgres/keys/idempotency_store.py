"""The port IdempotencyStore over PostgreSQL.

While the first request works, ``fingerprint`` holds its owner's random value and ``status`` is null.
"""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from ragcorp.domain.ports.idempotency import IdempotencyName, KeptResponse, Working
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database

CLAIM = """
    INSERT INTO idempotent_requests AS r (workspace, caller, idempotency_key, fingerprint)
    VALUES (%(workspace)s, %(caller)s, %(key)s, %(owner)s)
    ON CONFLICT (workspace, caller, idempotency_key) DO UPDATE
        SET fingerprint = excluded.fingerprint, created_at = now()
        WHERE r.status IS NULL AND r.created_at < now() - make_interval(secs => %(lease)s)
    RETURNING true
"""

FOUND = """
    SELECT fingerprint, status, headers, body FROM idempotent_requests
    WHERE workspace = %(workspace)s AND caller = %(caller)s AND idempotency_key = %(key)s
"""

OWNED = """
    WHERE workspace = %(workspace)s AND caller = %(caller)s AND idempotency_key = %(key)s
      AND status IS NULL AND fingerprint = %(owner)s
"""

RENEW = f"UPDATE idempotent_requests SET created_at = now() {OWNED}"
COMPLETE = f"""
    UPDATE idempotent_requests
    SET fingerprint = %(fingerprint)s, status = %(status)s, headers = %(headers)s, body = %(body)s, created_at = now()
    {OWNED}
"""
RELEASE = f"DELETE FROM idempotent_requests {OWNED}"

PURGE = "DELETE FROM idempotent_requests WHERE created_at < now() - make_interval(secs => %(seconds)s)"


class PostgresIdempotencyStore:
    """Answers by workspace, caller and key."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def claim(
        self, name: IdempotencyName, *, owner: bytes, lease_seconds: float
    ) -> KeptResponse | Working | None:
        values = {**_values(name), "owner": owner, "lease": lease_seconds}
        async with self._database.autocommit(name.workspace) as connection:
            if await (await connection.execute(CLAIM, values)).fetchone():
                return None
            row = await (await connection.execute(FOUND, _values(name))).fetchone()
        if row is None or row[1] is None:  # released between the two: whoever asks again may have it
            return Working()
        fingerprint, status, headers, body = row
        return KeptResponse(
            fingerprint=bytes(fingerprint),
            status=status,
            headers=[(str(header), str(value)) for header, value in headers],
            body=bytes(body),
        )

    async def renew(self, name: IdempotencyName, *, owner: bytes) -> None:
        await self._execute(RENEW, name, owner=owner)

    async def complete(self, name: IdempotencyName, response: KeptResponse, *, owner: bytes) -> None:
        await self._execute(
            COMPLETE,
            name,
            owner=owner,
            fingerprint=response.fingerprint,
            status=response.status,
            headers=Jsonb([list(header) for header in response.headers]),
            body=response.body,
        )

    async def release(self, name: IdempotencyName, *, owner: bytes) -> None:
        await self._execute(RELEASE, name, owner=owner)

    async def purge(self, *, older_than_hours: float) -> int:
        async with self._database.autocommit(EVERY_WORKSPACE) as connection:
            return (await connection.execute(PURGE, {"seconds": older_than_hours * 3600})).rowcount

    async def _execute(self, statement: str, name: IdempotencyName, **values: Any) -> None:
        async with self._database.autocommit(name.workspace) as connection:
            await connection.execute(statement.encode(), {**_values(name), **values})


def _values(name: IdempotencyName) -> dict[str, str]:
    return {"workspace": name.workspace, "caller": name.caller, "key": name.key}
