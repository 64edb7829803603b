"""The port KeyStore over PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.keys import ApiKey, Scope
from ragcorp.domain.ports.keys import StoredKey
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
KEY = ApiKey(
    id="rk_aaaaaaaaaaaaaaaa",
    name="página «web»",
    principal=Principal(
        workspace="ventas", subject="ana", groups=frozenset({"jefes", "a,b"}), clearance=Sensitivity.CONFIDENTIAL
    ),
    scopes=frozenset({Scope.ASK, Scope.SEARCH}),
    created_at=NOON,
    expires_at=NOON + timedelta(days=1),
)
STORED = StoredKey(key=KEY, digest=bytes(range(32)))


@pytest.fixture
async def store(dsn: str) -> AsyncIterator[PostgresKeyStore]:
    database = Database(dsn)
    await database.open()
    yield PostgresKeyStore(database=database)
    await database.close()


async def test_a_key_is_found_as_it_was_added(store: PostgresKeyStore) -> None:
    assert await store.find(KEY.id) is None
    assert not await store.any_exists()
    await store.add(STORED)
    assert await store.find(KEY.id) == STORED
    assert await store.any_exists()
    with pytest.raises(ConflictError):
        await store.add(STORED)


async def test_keys_are_listed_the_newest_first_and_by_workspace(store: PostgresKeyStore) -> None:
    other = replace(
        KEY, id="rk_bbbbbbbbbbbbbbbb", principal=Principal(workspace="compras"), created_at=NOON + timedelta(hours=1)
    )
    await store.add(STORED)
    await store.add(replace(STORED, key=other))
    assert await store.list() == [other, KEY]
    assert await store.list(workspace="ventas") == [KEY]
    assert await store.list(workspace="nadie") == []


async def test_a_revoked_key_stays_so_and_still_exists(store: PostgresKeyStore) -> None:
    await store.add(STORED)
    assert not await store.revoke("rk_bbbbbbbbbbbbbbbb", at=NOON)
    assert await store.revoke(KEY.id, at=NOON)
    assert await store.revoke(KEY.id, at=NOON + timedelta(hours=1))
    result = await store.find(KEY.id)
    assert result is not None
    assert result.key.revoked_at == NOON
    assert await store.any_exists()


async def test_the_last_use_never_goes_back(store: PostgresKeyStore) -> None:
    await store.add(STORED)
    for at in (NOON, NOON + timedelta(minutes=2), NOON + timedelta(minutes=1)):
        await store.used(KEY.id, at=at)
    (result,) = await store.list()
    assert result.last_used_at == NOON + timedelta(minutes=2)


async def test_the_database_has_a_secret_of_its_own(store: PostgresKeyStore) -> None:
    secret = await store.secret()
    assert len(secret) == 32
    assert await store.secret() == secret
