"""Names that the repository makes: the same again for what is named after the same, and never taken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragcorp.domain.collections import Item, ItemDraft
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import ConflictError
from ragcorp.domain.ports.collections import ItemRepository
from support.conformance.stored_items import StoredItems, draft
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio

ANA, BETO = replace(ANYONE, subject="ana"), replace(ANYONE, subject="beto")


def unnamed(named_after: str, text: str = "texto") -> ItemDraft:
    return replace(draft(None, text), named_after=named_after)


def hidden(item: Item) -> ItemDraft:
    attributes = replace(item.attributes, visibility_scope=VisibilityScope.PRIVATE, owner="beto")
    return ItemDraft(external_id=item.external_id, text=item.text, attributes=attributes)


class ItemNames(StoredItems):
    async def test_what_is_named_after_the_same_is_the_same_item(self, repository: ItemRepository) -> None:
        first = await repository.save_many([unnamed("a"), unnamed("b")], principal=ANA)
        again = await repository.save_many([unnamed("b"), unnamed("a", "otro"), unnamed("c")], principal=ANA)
        assert [str(outcome.status) for outcome in again] == ["unchanged", "updated", "created"]
        assert [outcome.external_id for outcome in again[:2]] == [outcome.external_id for outcome in first[::-1]]
        assert len(await self.names(repository)) == 3
        for outcome in again:
            assert len(bytes.fromhex(outcome.external_id)) == 16

    async def test_a_made_name_that_is_hidden_by_now_gives_way_to_another_as_opaque(
        self, repository: ItemRepository
    ) -> None:
        made = []
        for _ in range(7):
            first, (_, again, other) = (
                await repository.save_many([unnamed("a")], principal=ANA),
                await repository.save_many([draft("chosen"), unnamed("a"), unnamed("b")], principal=ANA),
            )
            assert str(first[0].status) == "created"
            made.append(first[0].external_id)
            if len(made) < 5:  # the names that can be made of it; what comes then is drawn
                assert (again.external_id, str(again.status)) == (made[-1], "unchanged")
            for name in {made[-1], again.external_id}:
                await repository.change(name, hidden, principal=ANA)
        assert len(set(made)) == 7
        assert all(len(bytes.fromhex(name)) == 16 for name in made)
        assert {name in made for name in await self.names(repository, BETO)} == {True, False}
        assert await self.names(repository, ANA) == sorted(["chosen", other.external_id])

    async def test_beside_a_made_name_a_chosen_one_is_refused_as_ever(self, repository: ItemRepository) -> None:
        await repository.save_many([draft("m")], principal=BETO)
        await repository.change("m", hidden, principal=BETO)
        with pytest.raises(ConflictError):
            await repository.save_many([unnamed("a"), draft("m")], principal=ANA)
        assert await self.names(repository, ANA) == []
