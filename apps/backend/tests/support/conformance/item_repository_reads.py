"""Who sees which items, and how they are listed."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from ragcorp.domain.collections import ItemSelection
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.ports.collections import ItemRepository
from ragcorp.domain.principal import Principal, Sensitivity
from support.conformance.stored_items import NOON, OTHER, StoredItems, draft
from support.storage.stored import ANYONE, where

pytestmark = pytest.mark.anyio

NAMES = ("ana", "beto", "legal", "ventas")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Who may read an item, once more, in Python."""

    sensitivity: Sensitivity
    visibility_scope: VisibilityScope
    owner: str

    def lets(self, principal: Principal) -> bool:
        owns = {
            VisibilityScope.WORKSPACE: True,
            VisibilityScope.GROUP: self.owner in principal.groups,
            VisibilityScope.PRIVATE: self.owner == principal.subject,
        }
        return self.sensitivity <= principal.clearance and owns[self.visibility_scope]


class ItemReads(StoredItems):
    @pytest.mark.parametrize("seed", range(3))
    async def test_nobody_reads_changes_or_deletes_what_the_policy_hides(
        self, repository: ItemRepository, seed: int
    ) -> None:
        chance = random.Random(seed)
        policies = {
            f"{number:02}": Policy(
                sensitivity=chance.choice(list(Sensitivity)),
                visibility_scope=chance.choice(list(VisibilityScope)),
                owner=chance.choice(NAMES),
            )
            for number in range(40)
        }
        drafts = [
            draft(
                name,
                session="s",
                sensitivity=policy.sensitivity,
                visibility_scope=policy.visibility_scope,
                owner=policy.owner,
            )
            for name, policy in policies.items()
        ]
        await repository.save_many(drafts, principal=ANYONE)
        await repository.save_many([draft("elsewhere", session="s")], principal=OTHER)
        left = dict(policies)
        for _ in range(12):
            principal = Principal(
                subject=chance.choice(NAMES),
                groups=frozenset(chance.sample(NAMES, chance.randint(0, 3))),
                clearance=chance.choice(list(Sensitivity)),
            )
            seen = [name for name, policy in left.items() if policy.lets(principal)]
            hidden = sorted(left.keys() - set(seen))
            assert await self.names(repository, principal) == seen
            latest = await repository.latest_of_conversation("s", principal=principal, limit=99)
            assert sorted(item.external_id for item in latest) == [
                name
                for name in seen
                if policies[name].visibility_scope is VisibilityScope.PRIVATE
                and policies[name].owner == principal.subject
            ]
            for name in hidden[:3]:
                with pytest.raises(NotFoundError):
                    await repository.get(name, principal=principal)
                with pytest.raises(NotFoundError):
                    await repository.delete_one(name, principal=principal)
                with pytest.raises(NotFoundError):
                    await repository.change(name, lambda item: draft(item.external_id), principal=principal)
                with pytest.raises(ConflictError) as refused:
                    await repository.save_many([draft(name, "mío")], principal=principal)
                assert name not in str(refused.value)
            victim = chance.choice(sorted(left))[:1]
            gone = [name for name in seen if name.startswith(victim)]
            if len(left) > 20:
                deleted = await repository.delete(ItemSelection(prefix=victim), principal=principal)
                assert deleted == len(gone)
                for name in gone:
                    del left[name]
        assert await self.names(repository, OTHER) == ["elsewhere"]

    async def test_workspaces_have_names_of_their_own(self, repository: ItemRepository) -> None:
        for principal in (ANYONE, OTHER):
            await repository.save_many([draft("a", f"de {principal.workspace}")], principal=principal)
        await repository.delete_one("a", principal=OTHER)
        assert (await repository.get("a", principal=ANYONE)).text == "de default"
        assert await self.names(repository, OTHER) == []

    async def test_pages_follow_external_id_and_prefixes_are_literal(self, repository: ItemRepository) -> None:
        names = ["a_1", "a%2", "aZ", "b", "B", "á", "a"]
        await repository.save_many([draft(name) for name in names], principal=ANYONE)
        listed: list[str] = []
        after = None
        while True:
            page = await repository.list_page(ItemSelection(), principal=ANYONE, limit=3, after=after)
            listed += [item.external_id for item in page.items]
            if (after := page.next_after) is None:
                break
        assert listed == sorted(names)
        for prefix, expected in [("a", ["a", "a%2", "aZ", "a_1"]), ("a_", ["a_1"]), ("a%", ["a%2"]), ("%", [])]:
            assert await self.names(repository, prefix=prefix) == expected

    async def test_filters_select_what_is_listed_and_deleted(self, repository: ItemRepository) -> None:
        await repository.save_many(
            [
                draft("a", session="s", speaker="Ana", metadata={"nivel": 1}),
                draft("b", session="s", speaker="Beto", artifact_type="person"),
                draft("c", session="t", speaker="Ana", metadata={"nivel": 2}, occurred_at=NOON),
            ],
            principal=ANYONE,
        )
        for filters, expected in (
            (where(session="s"), ["a", "b"]),
            (where(speaker="Ana"), ["a", "c"]),
            (where(artifact_type="person"), ["b"]),
            (where(nivel=2), ["c"]),
            (where(external_id="b"), ["b"]),
            (where(occurred_at={"lt": "2026-04-01T00:00:00Z"}), ["c"]),
            (where(session="s", speaker="Ana"), ["a"]),
            (where(collection=str(self.collection)), ["a", "b", "c"]),
            (where(collection="artifacts"), []),
        ):
            assert await self.names(repository, filters=filters) == expected, filters
        assert await repository.delete(ItemSelection(filters=where(speaker="Ana"), prefix="a"), principal=ANYONE) == 1
        assert await repository.delete(ItemSelection(filters=where(collection="artifacts")), principal=ANYONE) == 0
        assert await self.names(repository) == ["b", "c"]
