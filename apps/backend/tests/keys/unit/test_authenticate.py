"""Who calls, told from a credential: the same answer for all that is wrong, and an answer while the database is out."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from ragcorp.application.keys.authenticate import (
    EXISTENCE_SECONDS,
    MOST_LOOKUPS,
    MOST_REFRESHES,
    OUTAGE_SECONDS,
    RETRY_SECONDS,
    USED_SECONDS,
)
from ragcorp.application.keys.create import CreatedKey, KeyRequest
from ragcorp.application.keys.credentials import CREDENTIAL, KEY_ID
from ragcorp.domain.exceptions import InvalidInputError, StorageUnavailableError
from ragcorp.domain.keys import EVERY_SCOPE, LOCAL_CALLER, Scope, UnauthenticatedError
from ragcorp.domain.principal import Sensitivity
from support.http.keys import START, TRUST, KeyWorld

pytestmark = pytest.mark.anyio


async def refused(place: KeyWorld, credential: str | None) -> str:
    with pytest.raises(UnauthenticatedError) as refusal:
        await place.authenticate.caller(credential)
    return repr((str(refusal.value), refusal.value.field, refusal.value.limit, refusal.value.remedy))


@pytest.fixture
def place() -> KeyWorld:
    return KeyWorld()


async def test_a_key_tells_who_calls_and_what_they_may(place: KeyWorld) -> None:
    created = await place.key()
    caller = await place.authenticate.caller(created.credential)
    assert caller.key_id == created.key.id == created.credential.partition(".")[0]
    assert (caller.principal.workspace, caller.principal.subject) == ("ventas", created.key.id)
    assert (caller.principal.groups, caller.principal.clearance) == ({"jefes"}, Sensitivity.CONFIDENTIAL)
    assert caller.scopes == {Scope.ASK}


async def test_a_credential_has_256_bits_and_only_its_digest_is_kept(place: KeyWorld) -> None:
    created = await place.key()
    assert CREDENTIAL.fullmatch(created.credential)
    assert KEY_ID.fullmatch(created.key.id)
    secret = created.credential.partition(".")[2]
    assert len(secret) == 43  # 32 bytes in base64 without padding
    stored = place.store.stored[created.key.id]
    assert len(stored.digest) == 32
    assert secret not in repr(stored)
    assert secret not in repr(created)


async def test_all_that_is_wrong_has_one_answer(place: KeyWorld) -> None:
    active, revoked, expired = await place.key(), await place.key(), await place.key(days=1)
    await place.store.revoke(revoked.key.id, at=START)
    place.seconds = 2 * 86_400.0
    other = (await place.key()).credential.partition(".")[2]
    wrong = [
        None,
        "",
        "x",
        "x" * 5000,
        "\ud800",
        f"{active.key.id}.{other}",
        f"rk_{'a' * 16}.{other}",
        f"{active.credential} ",
        active.credential.upper(),
        revoked.credential,
        expired.credential,
    ]
    assert len({await refused(place, credential) for credential in wrong}) == 1
    await place.authenticate.caller(active.credential)


async def test_a_wrong_secret_costs_a_lookup_as_an_unknown_id_does(place: KeyWorld) -> None:
    """Else the time would tell which ids there are: those in memory answer sooner."""
    active, other = await place.key(), await place.key()
    await place.authenticate.caller(active.credential)
    for credential in (
        f"{active.key.id}.{other.credential.partition('.')[2]}",
        f"rk_{'a' * 16}.{other.credential.partition('.')[2]}",
    ):
        before = place.store.lookups
        await refused(place, credential)
        assert place.store.lookups == before + 1
    before = place.store.lookups
    await place.authenticate.caller(active.credential)
    assert place.store.lookups == before, "a wrong guess threw the right key out of memory"


async def test_a_digest_is_of_no_use_in_another_row(place: KeyWorld) -> None:
    one, two = await place.key(), await place.key()
    place.store.stored[two.key.id] = replace(
        place.store.stored[two.key.id], digest=place.store.stored[one.key.id].digest
    )
    await refused(place, f"{two.key.id}.{one.credential.partition('.')[2]}")


async def test_a_revoked_key_ends_when_it_is_no_longer_trusted(place: KeyWorld) -> None:
    created = await place.key()
    await place.authenticate.caller(created.credential)
    await place.store.revoke(created.key.id, at=place.now())
    place.seconds = TRUST - 0.1
    await place.authenticate.caller(created.credential)
    place.seconds = TRUST
    await refused(place, created.credential)
    await refused(place, created.credential)


async def test_an_expired_key_ends_at_once(place: KeyWorld) -> None:
    created = await place.key(days=1 / 86_400)
    await place.authenticate.caller(created.credential)
    place.seconds = 1.0
    await refused(place, created.credential)


async def test_without_a_key_the_caller_is_local_until_there_is_one(place: KeyWorld) -> None:
    assert await place.authenticate.caller(None) == LOCAL_CALLER
    assert LOCAL_CALLER.scopes == EVERY_SCOPE
    created = await place.key()
    place.seconds = EXISTENCE_SECONDS
    await refused(place, None)
    await place.store.revoke(created.key.id, at=place.now())
    place.seconds = 100.0
    await refused(place, None)  # it does not open again when the last key is revoked


async def test_a_key_stays_valid_while_the_database_is_out_and_for_so_long(place: KeyWorld) -> None:
    created = await place.key()
    await place.authenticate.caller(created.credential)
    place.store.out = True
    place.seconds = OUTAGE_SECONDS - 1
    assert (await place.authenticate.caller(created.credential)).key_id == created.key.id
    other = await place.key()
    with pytest.raises(StorageUnavailableError):
        await place.authenticate.caller(other.credential)
    with pytest.raises(StorageUnavailableError):
        await place.authenticate.caller(f"{created.key.id}.{other.credential.partition('.')[2]}")
    place.seconds = OUTAGE_SECONDS
    with pytest.raises(StorageUnavailableError):
        await place.authenticate.caller(created.credential)
    place.store.out = False
    place.seconds += 2.0
    assert (await place.authenticate.caller(created.credential)).key_id == created.key.id


async def test_an_outage_is_not_waited_for_by_each_request(place: KeyWorld) -> None:
    created = await place.key()
    await place.authenticate.caller(created.credential)
    place.store.out = True
    place.seconds = 10.0
    before = place.store.lookups
    for _ in range(20):
        await place.authenticate.caller(created.credential)
    assert place.store.lookups == before + 1


async def test_what_was_known_of_keys_at_all_holds_while_the_database_is_out(place: KeyWorld) -> None:
    place.store.out = True
    with pytest.raises(StorageUnavailableError):
        await place.authenticate.caller(None)
    place.store.out = False
    place.seconds = RETRY_SECONDS
    assert await place.authenticate.caller(None) == LOCAL_CALLER
    place.store.out = True
    place.seconds = 3600.0
    assert await place.authenticate.caller(None) == LOCAL_CALLER
    place.store.out = False
    await place.key()
    place.seconds += EXISTENCE_SECONDS
    await refused(place, None)
    place.store.out = True
    place.seconds += 3600.0
    await refused(place, None)


async def test_many_callers_at_once_ask_once(place: KeyWorld) -> None:
    created = await place.key()
    await asyncio.gather(*(place.authenticate.caller(created.credential) for _ in range(50)))
    assert place.store.lookups <= 4


NEVER_SECONDS = 60.0
"""Far longer than anything here may take; each test ends long before."""


def wrong(created: CreatedKey, number: int) -> str:
    return f"{created.key.id}.{number:043d}"


async def test_a_database_that_hangs_is_not_waited_for_when_it_does_not_let_go() -> None:
    place = KeyWorld(lookup_seconds=0.05)
    known, other = await place.key(), await place.key()
    await place.authenticate.caller(known.credential)
    place.seconds = TRUST
    place.store.freeze()
    async with asyncio.timeout(NEVER_SECONDS):
        assert (await place.authenticate.caller(known.credential)).key_id == known.key.id
        place.seconds += RETRY_SECONDS
        with pytest.raises(StorageUnavailableError) as refusal:
            await place.authenticate.caller(other.credential)
        assert refusal.value.reason == "timeout"
        before = place.store.lookups
        for _ in range(20):  # now that it is known to be out, nobody waits for it
            assert (await place.authenticate.caller(known.credential)).key_id == known.key.id
            with pytest.raises(StorageUnavailableError):
                await place.authenticate.caller(other.credential)
        assert place.store.lookups == before
    assert place.store.hanging == 2
    place.store.thaw()
    place.seconds += RETRY_SECONDS
    assert (await place.authenticate.caller(other.credential)).key_id == other.key.id
    assert place.store.hanging == 0


async def test_wrong_keys_in_masses_do_not_stand_before_a_known_one() -> None:
    place = KeyWorld(lookup_seconds=NEVER_SECONDS)
    existing = await place.key()
    await place.authenticate.caller(existing.credential)
    place.seconds = TRUST
    place.store.freeze()
    guesses = [asyncio.create_task(place.authenticate.caller(wrong(existing, number))) for number in range(120)]
    while place.store.hanging < MOST_LOOKUPS:  # noqa: ASYNC110 - the store has no event for it
        await asyncio.sleep(0)
    asking = asyncio.create_task(place.authenticate.caller(existing.credential))
    while place.store.hanging < MOST_LOOKUPS + 1:  # noqa: ASYNC110
        await asyncio.sleep(0)
    for guess in guesses:
        guess.cancel()
    await asyncio.gather(*guesses, return_exceptions=True)
    place.store.thaw()
    assert (await asking).key_id == existing.key.id


async def test_no_more_lookups_hang_than_there_are_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcorp.application.keys.authenticate.MOST_WAITING", 50)
    place = KeyWorld(lookup_seconds=0.05)
    keys = [await place.key() for _ in range(10)]
    for key in keys:
        await place.authenticate.caller(key.credential)
    place.store.freeze()
    for _ in range(4):
        place.seconds += TRUST
        right = [place.authenticate.caller(key.credential) for key in keys]
        guesses = [place.authenticate.caller(wrong(keys[0], number)) for number in range(100)]
        async with asyncio.timeout(NEVER_SECONDS):
            callers = await asyncio.gather(*right)
            refused = await asyncio.gather(*guesses, return_exceptions=True)
        assert [caller.key_id for caller in callers] == [key.key.id for key in keys]
        assert {type(error) for error in refused} == {StorageUnavailableError}
        assert place.store.hanging <= MOST_LOOKUPS + MOST_REFRESHES
    place.store.thaw()


async def test_what_waits_for_a_turn_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcorp.application.keys.authenticate.MOST_WAITING", 6)
    place = KeyWorld(lookup_seconds=NEVER_SECONDS)
    created = await place.key()
    place.store.freeze()
    waiting = [asyncio.create_task(place.authenticate.caller(wrong(created, number))) for number in range(6)]
    while place.store.hanging < MOST_LOOKUPS:  # noqa: ASYNC110
        await asyncio.sleep(0)
    with pytest.raises(StorageUnavailableError):
        await place.authenticate.caller(created.credential)
    place.store.thaw()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(error) for error in results} == {UnauthenticatedError}
    await place.authenticate.caller(created.credential)


async def test_whether_there_is_a_key_is_not_waited_for_either() -> None:
    place = KeyWorld(lookup_seconds=0.05)
    assert await place.authenticate.caller(None) == LOCAL_CALLER
    place.store.freeze()
    async with asyncio.timeout(NEVER_SECONDS):
        for _ in range(4):
            place.seconds += RETRY_SECONDS + EXISTENCE_SECONDS
            results = await asyncio.gather(*(place.authenticate.caller(None) for _ in range(20)))
            assert set(results) == {LOCAL_CALLER}
    assert place.store.hanging == 1
    place.store.thaw()


async def test_the_last_use_is_noted_once_a_minute_and_fails_no_request(place: KeyWorld) -> None:
    created = await place.key()
    for seconds in (0.0, 1.0, USED_SECONDS - 1, USED_SECONDS):
        place.seconds = seconds
        await place.authenticate.caller(created.credential)
    await place.authenticate.aclose()
    assert place.store.noted == [START, START + timedelta(seconds=USED_SECONDS)]
    place.store.out = True
    place.seconds = 2 * USED_SECONDS
    await place.authenticate.caller(created.credential)
    await place.authenticate.aclose()
    assert len(place.store.noted) == 2


async def test_another_secret_of_the_installation_makes_keys_unusable() -> None:
    before, after = KeyWorld(secret="uno"), KeyWorld(secret="dos")
    created = await before.key()
    after.store.stored = before.store.stored
    await before.authenticate.caller(created.credential)
    await refused(after, created.credential)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("scopes", {"scopes": frozenset[Scope]()}),
        ("workspace", {"workspace": "No Es"}),
        ("subject", {"subject": "a\nb"}),
        ("subject", {"subject": ""}),
        ("groups", {"groups": frozenset({""})}),
        ("name", {"name": "x" * 201}),
        ("expires_in_days", {"expires_in_days": 0.0}),
        ("expires_in_days", {"expires_in_days": float("nan")}),
    ],
)
async def test_a_key_that_cannot_be_is_refused(place: KeyWorld, field: str, values: dict[str, object]) -> None:
    request = KeyRequest(scopes=frozenset({Scope.ASK}), workspace="ventas")
    with pytest.raises(InvalidInputError) as refusal:
        await place.create.create(replace(request, **values))  # type: ignore[arg-type]
    assert refusal.value.field == field
    assert not place.store.stored
