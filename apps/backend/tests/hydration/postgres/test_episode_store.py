"""Episodes: what each turn showed, whose they are, and what of it is told today."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.structure.hydration import DropReason, HydrationWarning, WarningCode
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.episodes.store import PostgresEpisodeStore
from support.hydration.episodes import USE, left_out, record, shown, store_entities
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana", clearance=Sensitivity.NORMAL)
LOGIN = "auth.go::login"
LOGOUT = "auth.go::logout"
TEXT = "func login(user string) error { return check(user) }"


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
def store(database: Database) -> PostgresEpisodeStore:
    return PostgresEpisodeStore(database=database)


async def test_a_turn_is_told_as_it_was(database: Database, store: PostgresEpisodeStore) -> None:
    auth = await store_entities(database, "auth.go", {"login": TEXT, "logout": "x" * 500})
    warning = HydrationWarning(code=WarningCode.ANCHOR_DROPPED, message="dropped", key=LOGOUT, document_id=auth)
    turn = await record(
        store, "e", shown(LOGIN, auth), dropped=[left_out(LOGOUT, auth)], warnings=[warning], query="¿login?"
    )
    told = await store.read("e", principal=ANYONE)
    assert (turn, told.turn, told.turns, told.query, told.model, told.withheld) == (1, 1, 1, "¿login?", "test", 0)
    (entity,) = told.entities
    assert (entity.identity.key, entity.position, entity.content) == (LOGIN, 1, TEXT)
    assert (entity.path, entity.external_id, entity.kind) == ("auth.go", "auth.go", "function")
    assert (entity.reasons, entity.priority, entity.tokens) == (("anchor:explicit_file_mention",), 100, 7)
    (dropped,) = told.dropped
    assert (dropped.identity.key, dropped.budget, dropped.tokens) == (LOGOUT, DropReason.TOKENS, 9000)
    assert told.warnings == (warning,)
    assert told.use == USE


async def test_two_hundred_characters_are_told_and_of_a_cut_entity_its_head(
    database: Database, store: PostgresEpisodeStore
) -> None:
    auth = await store_entities(database, "auth.go", {"login": "ñ" * 500, "logout": "y" * 500})
    await record(store, "e", shown(LOGIN, auth), shown(LOGOUT, auth, position=2, cut=True))
    whole, cut = (await store.read("e", principal=ANYONE)).entities
    assert whole.content == "ñ" * 200
    assert cut.content == "y" * 40


async def test_turns_count_on_and_each_can_be_named(database: Database, store: PostgresEpisodeStore) -> None:
    auth = await store_entities(database, "auth.go", {"login": TEXT, "logout": TEXT})
    await record(store, "e", shown(LOGIN, auth))
    await record(store, "e", shown(LOGOUT, auth), shown(LOGIN, auth, position=2))
    first, latest = await store.read("e", principal=ANYONE, turn=1), await store.read("e", principal=ANYONE)
    assert [entity.identity.key for entity in first.entities] == [LOGIN]
    assert (latest.turn, latest.turns) == (2, 2)
    assert [entity.identity.key for entity in latest.entities] == [LOGOUT, LOGIN]


@pytest.mark.parametrize("other", [Principal(subject="beto"), Principal(workspace="otra")])
async def test_another_callers_episode_is_none(
    database: Database, store: PostgresEpisodeStore, other: Principal
) -> None:
    auth = await store_entities(database, "auth.go", {"login": TEXT})
    await record(store, "e", shown(LOGIN, auth))
    with pytest.raises(NotFoundError) as refused:
        await store.read("e", principal=other)
    with pytest.raises(NotFoundError) as unknown:
        await store.read("no such", principal=other)
    assert str(refused.value) == str(unknown.value)
    await record(store, "e", principal=other)
    assert [entity.identity.key for entity in (await store.read("e", principal=ANYONE)).entities] == [LOGIN]


async def test_a_turn_that_is_not_there_says_which_are(database: Database, store: PostgresEpisodeStore) -> None:
    await record(store, "e")
    await record(store, "e")
    with pytest.raises(NotFoundError) as refused:
        await store.read("e", principal=ANYONE, turn=3)
    assert (refused.value.field, refused.value.limit) == ("turn", "1 to 2")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE documents SET sensitivity = 2",
        "UPDATE documents SET visibility_scope = 'private', owner = 'beto'",
        "UPDATE documents SET visibility_scope = 'group', owner = 'legal'",
        "UPDATE documents SET deleted_at = now()",
    ],
)
async def test_visibility_is_checked_again_when_it_is_told(
    database: Database, store: PostgresEpisodeStore, owner_dsn: str, change: str
) -> None:
    auth = await store_entities(database, "auth.go", {"login": TEXT, "logout": TEXT})
    logs = await store_entities(database, "logs.go", {"write": TEXT})
    named = HydrationWarning(
        code=WarningCode.AMBIGUOUS_MENTION, message="auth.go names 2 files; a/auth.go is shown", document_id=auth
    )
    other = HydrationWarning(code=WarningCode.NO_SEMANTIC_CANDIDATES, message="none")
    await record(
        store, "e", shown(LOGIN, auth), shown("logs.go::write", logs, position=2),
        dropped=[left_out(LOGOUT, auth)], warnings=[named, other], principal=ANA,
    )  # fmt: skip
    assert len((await store.read("e", principal=ANA)).entities) == 2
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute(f"{change} WHERE external_id = 'auth.go'")  # type: ignore[arg-type]
    told = await store.read("e", principal=ANA)
    assert [(entity.identity.key, entity.position) for entity in told.entities] == [("logs.go::write", 2)]
    assert (told.dropped, told.withheld, told.warnings) == ((), 2, (other,))


async def test_an_entity_that_its_document_lost_has_no_text(database: Database, store: PostgresEpisodeStore) -> None:
    auth = await store_entities(database, "auth.go", {"login": TEXT})
    await record(store, "e", shown(LOGIN, auth))
    await store_entities(database, "auth.go", {"signIn": "func signIn() {}"})
    (entity,) = (await store.read("e", principal=ANYONE)).entities
    assert (entity.identity.key, entity.content) == (LOGIN, None)


async def test_a_changed_entity_is_told_as_it_is_today(database: Database, store: PostgresEpisodeStore) -> None:
    auth = await store_entities(database, "auth.go", {"login": TEXT})
    await record(store, "e", shown(LOGIN, auth))
    await store_entities(database, "auth.go", {"login": "func login() {}"})
    (entity,) = (await store.read("e", principal=ANYONE)).entities
    assert entity.content == "func login() {}"


async def test_a_document_that_is_purged_takes_what_was_shown_of_it_along(
    database: Database, store: PostgresEpisodeStore
) -> None:
    auth = await store_entities(database, "auth.go", {"login": TEXT})
    await record(store, "e", shown(LOGIN, auth))
    repository = await repository_over(database)
    await repository.soft_delete_one("auth.go", principal=ANYONE)
    await repository.purge_deleted(older_than_days=0, principal=ANYONE)
    assert await record(store, "e", shown(LOGIN, auth)) == 2
    told = await store.read("e", principal=ANYONE)
    assert (told.entities, told.withheld) == ((), 0)


async def test_what_was_purged_is_in_no_warning_and_the_others_keep_their_place(
    database: Database, store: PostgresEpisodeStore
) -> None:
    auth = await store_entities(database, "auth.go", {"login": TEXT})
    logs = await store_entities(database, "logs.go", {"write": TEXT})
    dropped = HydrationWarning(code=WarningCode.ANCHOR_DROPPED, message="login is left out", document_id=auth)
    await record(store, "e", shown(LOGIN, auth), shown("logs.go::write", logs, position=2), warnings=[dropped])
    repository = await repository_over(database)
    await repository.soft_delete_one("auth.go", principal=ANYONE)
    await repository.purge_deleted(older_than_days=0, principal=ANYONE)
    told = await store.read("e", principal=ANYONE)
    assert [(entity.identity.key, entity.position) for entity in told.entities] == [("logs.go::write", 2)]
    assert told.warnings == ()


async def test_turns_at_the_same_time_are_all_kept(database: Database, store: PostgresEpisodeStore) -> None:
    auth = await store_entities(database, "auth.go", {"login": TEXT})
    turns = await asyncio.gather(*(record(store, "e", shown(LOGIN, auth)) for _ in range(20)))
    assert sorted(turns) == list(range(1, 21))
    assert (await store.read("e", principal=ANYONE)).turns == 20


async def test_old_turns_go_and_numbers_never_repeat(
    database: Database, store: PostgresEpisodeStore, owner_dsn: str
) -> None:
    for _ in range(3):
        await record(store, "e")
    await record(store, "old")
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("""
            UPDATE hydration_turns t SET created_at = now() - interval '31 days' FROM episodes e
            WHERE e.id = t.episode AND (t.turn < 3 OR e.episode_id = 'old')""")
    assert await store.purge(older_than_days=30) == 3
    assert (await store.read("e", principal=ANYONE)).turn == 3
    with pytest.raises(NotFoundError, match="turn"):
        await store.read("e", principal=ANYONE, turn=1)
    with pytest.raises(NotFoundError):
        await store.read("old", principal=ANYONE)
    assert await record(store, "e") == 4
    with psycopg.connect(owner_dsn) as connection:
        assert connection.execute("SELECT episode_id FROM episodes").fetchall() == [("e",)]


@pytest.mark.parametrize("episode_id", ["a/b c", "'; DROP TABLE episodes; --", "épisodio ñ 日本", "%s {0} \\"])
async def test_any_name_is_a_name(store: PostgresEpisodeStore, episode_id: str) -> None:
    assert await record(store, episode_id, query="%(x)s {0} 'q'") == 1
    assert (await store.read(episode_id, principal=ANYONE)).query == "%(x)s {0} 'q'"


async def test_a_private_documents_owner_reads_on(database: Database, store: PostgresEpisodeStore) -> None:
    auth = await store_entities(
        database, "auth.go", {"login": TEXT}, principal=ANA, visibility_scope=VisibilityScope.PRIVATE, owner="ana"
    )
    await record(store, "e", shown(LOGIN, auth), principal=ANA)
    assert [entity.content for entity in (await store.read("e", principal=ANA)).entities] == [TEXT]
