"""What conversations need of an ItemRepository: that turns are stored, and that a session's last ones are read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ragcorp.domain.documents import IngestStatus, VisibilityScope
from ragcorp.domain.ports.collections import ItemRepository
from ragcorp.domain.principal import Principal, Sensitivity
from support.conformance.stored_items import NOON, OTHER, StoredItems, draft
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio


def own(principal: Principal = ANYONE, **attributes: Any) -> dict[str, Any]:
    return {"session": "s", "visibility_scope": VisibilityScope.PRIVATE, "owner": principal.subject, **attributes}


class TurnsOfConversations(StoredItems):
    async def test_the_last_turns_of_a_session_come_oldest_first(self, repository: ItemRepository) -> None:
        for number in (3, 1, 4, 0, 2):
            await repository.save_many(
                [draft(f"{number}", **own(occurred_at=NOON + timedelta(minutes=number // 2)))], principal=ANYONE
            )
        later = NOON + timedelta(days=1)
        await repository.save_many([draft("9", **own(session="t", occurred_at=later))], principal=ANYONE)
        # what another could have written is no part of it
        await repository.save_many([draft("8", session="s", occurred_at=later)], principal=ANYONE)
        await repository.save_many(
            [draft("7", session="s", occurred_at=later, owner=ANYONE.subject)], principal=replace(ANYONE, subject="x")
        )
        # 0 and 1 are of one moment, 2 and 3 of the next: as they were stored
        for limit, expected in ((9, "10324"), (3, "324"), (1, "4")):
            latest = await repository.latest_of_conversation("s", principal=ANYONE, limit=limit)
            assert "".join(item.external_id for item in latest) == expected
        hidden = replace(ANYONE, clearance=Sensitivity.PUBLIC)
        assert await repository.latest_of_conversation("s", principal=hidden, limit=9) == []
        assert await repository.latest_of_conversation("none", principal=ANYONE, limit=9) == []

    async def test_a_turn_comes_back_as_it_was_stored(self, repository: ItemRepository) -> None:
        kept = draft(
            "a", "¿Cuándo vence?", speaker="user", entities=("Goa",),
            **own(language="es", occurred_at=NOON, metadata={"generated": True}, artifact_type="question"),
        )  # fmt: skip
        (outcome,) = await repository.save_many([kept], principal=ANYONE)
        assert (outcome.external_id, outcome.status) == ("a", IngestStatus.CREATED)
        (turn,) = await repository.latest_of_conversation("s", principal=ANYONE, limit=9)
        assert (turn.collection, turn.external_id, turn.text) == (self.collection, "a", kept.text)
        assert (turn.session, turn.speaker, turn.entities) == (kept.session, kept.speaker, kept.entities)
        assert turn.attributes == kept.attributes

    async def test_a_second_write_of_a_turn_replaces_it_and_leaves_its_place(self, repository: ItemRepository) -> None:
        turns = [draft("a", "uno", **own()), draft("b", "dos", **own())]
        await repository.save_many(turns, principal=ANYONE)
        again = await repository.save_many([draft("a", "tres", **own()), turns[1]], principal=ANYONE)
        assert [outcome.status for outcome in again] == [IngestStatus.UPDATED, IngestStatus.UNCHANGED]
        latest = await repository.latest_of_conversation("s", principal=ANYONE, limit=9)
        assert [turn.text for turn in latest] == ["tres", "dos"]

    async def test_turns_without_a_name_are_one_where_they_are_named_after_the_same(
        self, repository: ItemRepository
    ) -> None:
        unnamed = replace(draft(None, "uno", **own()), named_after="x")
        (first,) = await repository.save_many([unnamed], principal=ANYONE)
        again, other = await repository.save_many([unnamed, replace(unnamed, named_after="y")], principal=ANYONE)
        assert (again.external_id, again.status) == (first.external_id, IngestStatus.UNCHANGED)
        assert other.status is IngestStatus.CREATED
        latest = await repository.latest_of_conversation("s", principal=ANYONE, limit=9)
        assert [turn.external_id for turn in latest] == [first.external_id, other.external_id]
        assert all(len(bytes.fromhex(turn.external_id)) == 16 for turn in latest)

    async def test_a_session_of_another_workspace_or_subject_is_another(self, repository: ItemRepository) -> None:
        beto = Principal(subject="beto", clearance=ANYONE.clearance)
        for principal in (ANYONE, OTHER, beto):
            name = f"{principal.workspace} {principal.subject}"
            await repository.save_many([draft(name, name, **own(principal))], principal=principal)
        for principal in (ANYONE, OTHER, beto):
            latest = await repository.latest_of_conversation("s", principal=principal, limit=9)
            assert [turn.text for turn in latest] == [f"{principal.workspace} {principal.subject}"]
