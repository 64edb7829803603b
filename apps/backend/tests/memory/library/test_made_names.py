"""What nobody may learn from the name of an item that its writer gave none."""

from __future__ import annotations

import json

import pytest

from ragcorp.application.validation.item_drafts import checked_draft, item_draft
from ragcorp.domain.collections import Collection
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.principal import Principal
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

ANA, EVE = Principal(subject="ana"), Principal(subject="eve")


async def test_a_memory_that_was_made_private_is_no_oracle(open_rag: OpenRag) -> None:
    rag = await open_rag()
    ana, eve = rag.as_principal(ANA), rag.as_principal(EVE)
    # what eve had once is named as before, whatever others did with the same words since
    before = (await eve.memory.add("Bob será despedido")).external_id
    await eve.memory.delete(before)
    hers = await ana.memory.add("Bob será despedido")
    await ana.memory.update(hers.external_id, visibility_scope=VisibilityScope.PRIVATE)
    for text in ("Bob será despedido", "Bob será ascendido"):
        first, again = await eve.memory.add(text), await eve.memory.add(text)
        assert (str(first.status), str(again.status)) == ("created", "unchanged")
        assert first.external_id == again.external_id
        assert (await eve.memory.get(first.external_id)).pending
    assert before in [item.external_id for item in (await eve.memory.list())[0]]
    # the one who made it may say it again
    assert str((await ana.memory.add("Bob será despedido")).status) == "updated"


async def test_an_item_that_another_took_over_is_written_anew(open_rag: OpenRag) -> None:
    rag = await open_rag()
    ana, eve = rag.as_principal(ANA), rag.as_principal(EVE)
    first = await ana.memory.add("La reunión es el lunes")
    await eve.memory.update(first.external_id, text="Secreto", visibility_scope=VisibilityScope.PRIVATE, owner="eve")
    second = await ana.memory.add("La reunión es el lunes")
    assert (str(second.status), second.external_id == first.external_id) == ("created", False)
    third = await ana.memory.add("La reunión es el lunes")
    assert (str(third.status), third.external_id) == ("unchanged", second.external_id)
    assert (await eve.memory.get(first.external_id)).text == "Secreto"


async def test_the_name_of_a_guessed_text_cannot_be_asked_for(open_rag: OpenRag) -> None:
    rag = await open_rag()
    ana, eve = rag.as_principal(ANA), rag.as_principal(EVE)
    private = DocumentAttributes(artifact_type="fact", visibility_scope=VisibilityScope.PRIVATE)
    guess = checked_draft(
        item_draft(collection=Collection.MEMORY, text="El pin es 4321", attributes=private), principal=ANA
    ).named_after
    made = await ana.memory.add("El pin es 4321", visibility_scope=VisibilityScope.PRIVATE)
    assert guess is not None
    assert made.external_id != guess
    assert str((await eve.memory.add("a", external_id=guess)).status) == "created"


async def test_an_import_meets_nothing_that_is_hidden(open_rag: OpenRag) -> None:
    rag = await open_rag()
    ana, eve = rag.as_principal(ANA), rag.as_principal(EVE)
    lines = [json.dumps({"text": f"Turno {n}.", "speaker": "a", "ts": 1_772_000_000}).encode() for n in range(4)]
    assert (await ana.history.import_lines(lines[:2])).created == 2
    for item in (await ana.history.list())[0]:
        await ana.history.update(item.external_id, visibility_scope=VisibilityScope.PRIVATE)
    # what is said twice is two turns
    for expected in ((5, 0), (0, 5)):
        report = await eve.history.import_lines([*lines, lines[0]])
        assert (report.created, report.unchanged) == expected
        assert report.failures == ()
    assert len((await eve.history.list())[0]) == 5
