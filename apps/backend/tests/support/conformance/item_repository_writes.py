"""What is stored of an item, and what a second write of it does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragcorp.domain.collections import Item, ItemDraft, ItemSelection
from ragcorp.domain.documents import DocumentAttributes, IngestStatus, VisibilityScope
from ragcorp.domain.exceptions import ConflictError, InvalidInputError, NotFoundError
from ragcorp.domain.ports.collections import ItemRepository
from ragcorp.domain.ports.storage import EmbeddingBacklog
from ragcorp.domain.principal import Sensitivity
from support.conformance.stored_items import NOON, OTHER, StoredItems, draft
from support.models.embedders import TEST_MODEL
from support.storage.stored import ANYONE, EAST, embed_all

pytestmark = pytest.mark.anyio

FULL = ItemDraft(
    external_id="viaje",
    text="Priya planea ir a Goa en marzo.",
    attributes=DocumentAttributes(
        language="en",
        artifact_type="preference",
        sensitivity=Sensitivity.CONFIDENTIAL,
        visibility_scope=VisibilityScope.GROUP,
        owner="viajes",
        occurred_at=NOON,
        metadata={"canal": "correo", "nivel": 3, "lista": [1, {"a": None}], "texto": "á\\'\"%s{}"},
    ),
    session="s-1",
    speaker="Rajesh",
    entities=("Priya", "Goa", 'con "comillas", {llaves} y NULL'),
)
READER = replace(ANYONE, groups=frozenset({"viajes"}))

OTHERS = {
    "text": replace(FULL, text="Otro texto."),
    "session": replace(FULL, session=None),
    "speaker": replace(FULL, speaker="Priya"),
    "entities": replace(FULL, entities=("Goa", "Priya")),
    "language": replace(FULL, attributes=replace(FULL.attributes, language="es")),
    "artifact_type": replace(FULL, attributes=replace(FULL.attributes, artifact_type="person")),
    "sensitivity": replace(FULL, attributes=replace(FULL.attributes, sensitivity=Sensitivity.NORMAL)),
    "owner": replace(FULL, attributes=replace(FULL.attributes, visibility_scope=VisibilityScope.WORKSPACE)),
    "occurred_at": replace(FULL, attributes=replace(FULL.attributes, occurred_at=NOON + timedelta(microseconds=1))),
    "metadata": replace(FULL, attributes=replace(FULL.attributes, metadata={"canal": "correo"})),
}


class ItemWrites(StoredItems):
    async def test_everything_that_is_given_comes_back(self, repository: ItemRepository) -> None:
        before = datetime.now(UTC)
        (outcome,) = await repository.save_many([FULL], principal=READER)
        assert (outcome.external_id, outcome.status) == ("viaje", IngestStatus.CREATED)
        stored = await repository.get("viaje", principal=READER)
        assert (stored.collection, stored.external_id, stored.text) == (self.collection, "viaje", FULL.text)
        assert stored.attributes == FULL.attributes
        assert (stored.session, stored.speaker, stored.entities) == (FULL.session, FULL.speaker, FULL.entities)
        assert before - timedelta(seconds=5) < stored.created_at == stored.updated_at
        assert stored.id.isdigit()
        assert stored.pending

    async def test_an_equal_item_is_left_as_it_is(self, repository: ItemRepository) -> None:
        await repository.save_many([FULL], principal=READER)
        first = await repository.get("viaje", principal=READER)
        (outcome,) = await repository.save_many([FULL], principal=READER)
        assert outcome.status is IngestStatus.UNCHANGED
        assert await repository.get("viaje", principal=READER) == first

    @pytest.mark.parametrize("field", OTHERS)
    async def test_any_other_content_replaces_it(self, repository: ItemRepository, field: str) -> None:
        await repository.save_many([FULL], principal=READER)
        first = await repository.get("viaje", principal=READER)
        (outcome,) = await repository.save_many([OTHERS[field]], principal=READER)
        assert outcome.status is IngestStatus.UPDATED
        stored = await repository.get("viaje", principal=READER)
        assert (stored.id, stored.created_at) == (first.id, first.created_at)
        assert stored.updated_at > first.updated_at
        assert as_draft(stored) == OTHERS[field]
        (again,) = await repository.save_many([OTHERS[field]], principal=READER)
        assert again.status is IngestStatus.UNCHANGED

    async def test_an_item_without_a_time_is_of_now_and_keeps_it(self, repository: ItemRepository) -> None:
        before = datetime.now(UTC)
        await repository.save_many([draft("a"), draft("b", occurred_at=NOON)], principal=ANYONE)
        first = (await repository.get("a", principal=ANYONE)).attributes.occurred_at
        assert first is not None
        assert abs(first - before) < timedelta(seconds=5)
        for name, expected in (("a", first), ("b", NOON)):
            (same,) = await repository.save_many([draft(name)], principal=ANYONE)
            (other,) = await repository.save_many([draft(name, "Otro.")], principal=ANYONE)
            assert (same.status, other.status) == (IngestStatus.UNCHANGED, IngestStatus.UPDATED)
            assert (await repository.get(name, principal=ANYONE)).attributes.occurred_at == expected

    async def test_an_item_without_a_name_gets_one_of_its_own(self, repository: ItemRepository) -> None:
        outcomes = await repository.save_many([draft(None), draft(None)], principal=ANYONE)
        names = [outcome.external_id for outcome in outcomes]
        assert len(set(names)) == 2
        assert all(len(name) == 32 for name in names)
        assert await self.names(repository) == sorted(names)

    async def test_in_one_batch_the_later_draft_of_a_name_stands(self, repository: ItemRepository) -> None:
        outcomes = await repository.save_many(
            [draft("a", "primero"), draft("b", "otro"), draft("a", "último")], principal=ANYONE
        )
        assert [(outcome.external_id, str(outcome.status)) for outcome in outcomes] == [
            ("a", "created"),
            ("b", "created"),
            ("a", "created"),
        ]
        assert (await repository.get("a", principal=ANYONE)).text == "último"
        assert await repository.save_many([], principal=ANYONE) == []

    async def test_a_batch_tells_new_changed_and_equal_items_apart_in_its_order(
        self, repository: ItemRepository
    ) -> None:
        await repository.save_many([draft("b"), draft("c")], principal=ANYONE)
        outcomes = await repository.save_many(
            [draft("d"), draft("c", "Otro."), draft("b"), draft("a")], principal=ANYONE
        )
        assert [(outcome.external_id, str(outcome.status)) for outcome in outcomes] == [
            ("d", "created"),
            ("c", "updated"),
            ("b", "unchanged"),
            ("a", "created"),
        ]

    async def test_a_batch_is_stored_as_a_whole_or_not_at_all(self, repository: ItemRepository) -> None:
        hidden = draft("m", visibility_scope=VisibilityScope.PRIVATE, owner="ana")
        await repository.save_many([hidden], principal=replace(ANYONE, subject="ana"))
        with pytest.raises(ConflictError):
            await repository.save_many([draft("a"), draft("m"), draft("z")], principal=ANYONE)
        assert await self.names(repository) == []

    @pytest.mark.parametrize("text", ["uno\x00dos", "uno\ud800dos"])
    @pytest.mark.parametrize("field", ["text", "external_id", "session", "speaker", "entities"])
    def test_what_cannot_be_stored_is_no_draft(self, field: str, text: str) -> None:
        value = (text,) if field == "entities" else text
        with pytest.raises(InvalidInputError) as refused:
            ItemDraft(**{"text": "bien", "attributes": DocumentAttributes(), field: value})
        assert refused.value.field == field

    async def test_the_longest_item_of_the_oddest_words_is_stored(self, repository: ItemRepository) -> None:
        for number, text in enumerate(
            ("x" * 20_000, "🙂" * 20_000, "a-b/c.d_" * 2500, "'\\\";--%(x)s{y} $$ " * 100, "\u202eoculto 中文")
        ):
            await repository.save_many([draft(f"{number}", text, speaker="🙂" * 400)], principal=ANYONE)
            assert (await repository.get(f"{number}", principal=ANYONE)).text == text

    async def test_a_change_reads_and_writes_under_one_lock(self, repository: ItemRepository) -> None:
        await repository.save_many([draft("a", "0")], principal=ANYONE)

        def counted(item: Item) -> ItemDraft:
            return replace(as_draft(item), text=str(int(item.text) + 1))

        outcomes = await asyncio.gather(*(repository.change("a", counted, principal=ANYONE) for _ in range(8)))
        assert {outcome.status for outcome in outcomes} == {IngestStatus.UPDATED}
        assert (await repository.get("a", principal=ANYONE)).text == "8"
        assert (await repository.change("a", as_draft, principal=ANYONE)).status is IngestStatus.UNCHANGED
        with pytest.raises(NotFoundError):
            await repository.change("b", counted, principal=ANYONE)
        with pytest.raises(NotFoundError):
            await repository.change("a", counted, principal=OTHER)

    async def test_a_change_that_is_refused_changes_nothing(self, repository: ItemRepository) -> None:
        await repository.save_many([draft("a")], principal=ANYONE)

        def refused(item: Item) -> ItemDraft:
            raise InvalidInputError("no", field="text")

        with pytest.raises(InvalidInputError):
            await repository.change("a", refused, principal=ANYONE)
        with pytest.raises(ConflictError):
            await repository.change("a", lambda item: draft("b"), principal=ANYONE)
        assert as_draft(await repository.get("a", principal=ANYONE)).text == draft("a").text
        assert await self.names(repository) == ["a"]

    async def test_deleted_items_are_gone_for_good(self, repository: ItemRepository, backlog: EmbeddingBacklog) -> None:
        await repository.save_many([draft(name) for name in ("a", "ab", "b", "c")], principal=ANYONE)
        await embed_all(backlog)
        await repository.save_many([draft("b", "Otro.")], principal=ANYONE)
        await repository.delete_one("b", principal=ANYONE)
        assert await repository.delete(ItemSelection(prefix="a"), principal=ANYONE) == 2
        assert await self.names(repository) == ["c"]
        assert (await backlog.counts()).pending == 0
        for name in ("a", "b", "x"):
            with pytest.raises(NotFoundError):
                await repository.delete_one(name, principal=ANYONE)
        (outcome,) = await repository.save_many([draft("b")], principal=ANYONE)
        assert outcome.status is IngestStatus.CREATED

    async def test_a_new_text_or_speaker_waits_for_a_new_vector_and_nothing_else_does(
        self, repository: ItemRepository, backlog: EmbeddingBacklog
    ) -> None:
        await repository.save_many([draft("a", "uno")], principal=ANYONE)
        await embed_all(backlog)
        assert not (await repository.get("a", principal=ANYONE)).pending
        for other, waits, text in (
            (draft("a", "uno", session="s", entities=("x",), language="en", metadata={"k": 1}), False, ""),
            (draft("a", "uno", speaker="Ana"), True, "Ana: uno"),
            (draft("a", "dos", speaker="Ana"), True, "Ana: dos"),
            (draft("a", "uno"), True, "uno"),
        ):
            await repository.save_many([other], principal=ANYONE)
            assert (await repository.get("a", principal=ANYONE)).pending is waits
            batch = await backlog.claim(limit=9, lease_seconds=0)
            assert [item.index_text for item in batch] == ([text] if waits else [])
            await backlog.complete(dict.fromkeys(batch, EAST), model=TEST_MODEL)


def as_draft(item: Item) -> ItemDraft:
    return ItemDraft(
        external_id=item.external_id,
        text=item.text,
        attributes=item.attributes,
        session=item.session,
        speaker=item.speaker,
        entities=item.entities,
    )
