"""Two writers of one item: the second waits for the first, and then sees what that one left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from ragcorp.domain.collections import Collection, ItemDraft
from ragcorp.domain.documents import IngestStatus, VisibilityScope
from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.infrastructure.postgres.items.writes import STATEMENT_CHARACTERS
from support.conformance.stored_items import draft
from support.storage.postgres import open_database
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio

INSERT = """
    INSERT INTO memory_items (workspace, external_id, text, language, visibility_scope, owner, content_hash)
    VALUES ('default', %s, %s, 'es', %s, %s, '')
"""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
async def memory(dsn: str) -> AsyncIterator[PostgresItemRepository]:
    async with open_database(dsn) as database:
        yield PostgresItemRepository(database=database, collection=Collection.MEMORY)


async def save_behind(
    memory: PostgresItemRepository, dsn: str, first: tuple[str, str, str, str], second: ItemDraft
) -> Any:
    """Save ``second`` while the first writer's row is there, not committed; commit it when the second waits."""
    async with await psycopg.AsyncConnection.connect(dsn) as writer:
        await writer.execute(INSERT, first)
        saving = asyncio.create_task(memory.save_many([draft("a"), second, draft("z")], principal=ANYONE))
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as observer:
            for _ in range(1000):
                if (await (await observer.execute(WAITING)).fetchone()) != (0,):
                    break
                await asyncio.sleep(0.01)
            else:
                pytest.fail("the second writer does not wait")
        await writer.commit()
    return await saving


async def test_what_another_made_meanwhile_is_replaced(memory: PostgresItemRepository, dsn: str) -> None:
    outcomes = await save_behind(memory, dsn, ("m", "suyo", "workspace", ""), draft("m", "mío"))
    assert [str(outcome.status) for outcome in outcomes] == ["created", "updated", "created"]
    assert (await memory.get("m", principal=ANYONE)).text == "mío"


async def test_what_another_made_meanwhile_and_hides_is_left_alone(memory: PostgresItemRepository, dsn: str) -> None:
    with pytest.raises(ConflictError):
        await save_behind(memory, dsn, ("m", "suyo", "private", "ana"), draft("m", "mío"))
    assert (await memory.get("m", principal=Principal(subject="ana"))).text == "suyo"


UNNAMED = replace(draft(None, "mío"), named_after="del texto")


async def test_a_made_name_that_is_hidden_meanwhile_is_another(memory: PostgresItemRepository, dsn: str) -> None:
    (made,) = await memory.save_many([UNNAMED], principal=ANYONE)
    await memory.delete_one(made.external_id, principal=ANYONE)
    hidden = (made.external_id, "suyo", "private", "ana")
    first, second, third = await save_behind(memory, dsn, hidden, UNNAMED)
    assert [str(outcome.status) for outcome in (first, second, third)] == ["created", "created", "created"]
    assert second.external_id != made.external_id
    assert (await memory.get(made.external_id, principal=Principal(subject="ana"))).text == "suyo"


async def test_an_item_of_anothers_may_be_given_away_but_not_taken(memory: PostgresItemRepository) -> None:
    ana, beto = Principal(subject="ana"), Principal(subject="beto")
    mine = draft("m", visibility_scope=VisibilityScope.PRIVATE, owner="ana")
    await memory.save_many([mine], principal=ana)
    with pytest.raises(ConflictError):
        await memory.save_many([draft("m", visibility_scope=VisibilityScope.PRIVATE, owner="beto")], principal=beto)
    (given,) = await memory.save_many([draft("m")], principal=ana)
    assert given.status is IngestStatus.UPDATED
    assert (await memory.get("m", principal=beto)).external_id == "m"


async def test_overlapping_batches_of_many_statements_never_deadlock(memory: PostgresItemRepository) -> None:
    long = "palabra " * 2400
    names = [f"{n:02}" for n in range(24)]
    assert len(names) * len(long) > 2 * STATEMENT_CHARACTERS

    async def save(number: int) -> None:
        order = names if number % 2 else names[::-1]
        await memory.save_many([draft(name, f"{long}{number}") for name in order], principal=ANYONE)

    async with asyncio.timeout(60):
        await asyncio.gather(*(save(number) for number in range(4)))
    texts = {(await memory.get(name, principal=ANYONE)).text for name in names}
    assert len(texts) == 1
