"""Memory and history through the library, over PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import ragcorp
from ragcorp.domain.collections import Item
from ragcorp.domain.documents import IngestStatus, VisibilityScope
from ragcorp.domain.exceptions import ConflictError, InvalidInputError, NotFoundError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.interface.library.collections import Items
from support.models.embedders import HashingEmbedder
from support.retrieval.corpus import OpenRag, count

pytestmark = pytest.mark.anyio


async def names(items: Items, **options: Any) -> list[str]:
    return [item.external_id for item in (await items.list(**options))[0]]


def export(number: int, *, session: str = "goa") -> list[bytes]:
    return [
        json.dumps(
            {
                "session": session,
                "role": ("Rajesh", "Priya")[n % 2],
                "ts": 1_772_000_000 + n // 3,
                "content": f"Turno {n % 7}.",
            }
        ).encode()
        for n in range(number)
    ]


async def test_a_memory_is_kept_changed_and_forgotten(open_rag: OpenRag, dsn: str) -> None:
    rag = await open_rag()
    told = await rag.memory.add("Priya prefiere la ventanilla.", artifact_type="preference", entities=["Priya"])
    assert told.status is IngestStatus.CREATED
    again = await rag.memory.add("Priya prefiere la ventanilla.", artifact_type="preference", entities=["Priya"])
    assert (again.status, again.external_id) == (IngestStatus.UNCHANGED, told.external_id)
    changed = await rag.memory.update(told.external_id, text="Priya prefiere el pasillo.", metadata={"since": 2026})
    assert changed.status is IngestStatus.UPDATED
    item: Item = await rag.memory.get(told.external_id)
    assert (item.text, item.entities, item.attributes.metadata) == (
        "Priya prefiere el pasillo.",
        ("Priya",),
        {"since": 2026},
    )
    assert item.attributes.artifact_type == "preference"
    assert item.pending
    await rag.embed_pending()
    assert not (await rag.memory.get(told.external_id)).pending
    assert await names(rag.history) == []
    await rag.memory.delete(told.external_id)
    with pytest.raises(NotFoundError):
        await rag.memory.get(told.external_id)
    assert count(dsn, "memory_items") == count(dsn, "memory_embeddings") == 0


async def test_a_write_without_a_time_keeps_the_one_there_is(open_rag: OpenRag) -> None:
    rag = await open_rag()
    then = datetime(2026, 3, 2, 18, 40, tzinfo=UTC)
    await rag.history.add("Hola.", external_id="t", occurred_at=then)
    assert (await rag.history.add("Hola.", external_id="t")).status is IngestStatus.UNCHANGED
    assert (await rag.history.add("Adiós.", external_id="t")).status is IngestStatus.UPDATED
    assert (await rag.history.get("t")).attributes.occurred_at == then
    before = datetime.now(UTC)
    made = await rag.history.add("Ahora.")
    result = (await rag.history.get(made.external_id)).attributes.occurred_at
    assert result is not None
    assert before <= result <= datetime.now(UTC)


async def test_changes_at_the_same_time_are_all_kept(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await rag.memory.add("Uno.", external_id="m")
    await asyncio.gather(
        rag.memory.update("m", text="Dos."),
        rag.memory.update("m", metadata={"k": 1}),
        rag.memory.update("m", entities=["Goa"]),
        rag.memory.update("m", speaker="Rajesh"),
    )
    item = await rag.memory.get("m")
    assert (item.text, item.attributes.metadata, item.entities, item.speaker) == ("Dos.", {"k": 1}, ("Goa",), "Rajesh")


async def test_what_a_caller_may_not_read_is_not_there(open_rag: OpenRag) -> None:
    rag = await open_rag()
    ana = rag.as_principal(Principal(subject="ana", groups=frozenset({"g"})))
    bea = rag.as_principal(Principal(subject="bea", clearance=Sensitivity.NORMAL))
    await ana.memory.add("De todos.", external_id="all")
    await ana.memory.add("De ana.", external_id="own", visibility_scope=VisibilityScope.PRIVATE)
    await ana.memory.add("Del grupo.", external_id="group", visibility_scope=VisibilityScope.GROUP, owner="g")
    await ana.memory.add("Secreto.", external_id="secret", sensitivity=Sensitivity.CONFIDENTIAL)
    assert await names(ana.memory) == ["all", "group", "own", "secret"]
    assert await names(bea.memory) == ["all"]
    for name in ("own", "group", "secret", "none"):
        with pytest.raises(NotFoundError) as caught:
            await bea.memory.get(name)
        assert "none" not in str(caught.value)
        for call in (bea.memory.delete(name), bea.memory.update(name, text="x")):
            with pytest.raises(NotFoundError):
                await call
    for name in ("own", "group", "secret"):
        with pytest.raises(ConflictError, match="taken"):
            await bea.memory.add("Mío.", external_id=name)
    assert await bea.memory.delete_selection(filters={"artifact_type": "fact"}) == 1
    assert await names(ana.memory) == ["group", "own", "secret"]
    # a name that is made never meets one of somebody else
    for caller in (ana, bea):
        made = await caller.memory.add("De una.", visibility_scope=VisibilityScope.PRIVATE)
        assert made.status is IngestStatus.CREATED
    other = rag.as_principal(Principal(workspace="other"))
    assert await names(other.memory) == []
    with pytest.raises(InvalidInputError, match="clearance"):
        await bea.memory.update((await bea.memory.list())[0][0].external_id, sensitivity=Sensitivity.RESTRICTED)


async def test_an_export_is_imported_once(open_rag: OpenRag, tmp_path: Path) -> None:
    rag = await open_rag()
    lines = export(1_500)
    lines[17] = b"{no json"
    lines[1_234] = b'{"content": "sin hora"}'
    lines[1_499] = b'{"ts": 1, "content": "\\u0000 \\u202e"}'
    lines[40] = b"   "
    file = tmp_path / "chat.jsonl"
    file.write_bytes(b"\n".join(lines))
    progress: list[int] = []
    started = time.monotonic()
    first = await rag.history.import_lines(file, on_progress=progress.append)
    assert time.monotonic() - started < 60
    assert (first.created, first.updated, first.unchanged) == (1_496, 0, 0)
    assert [(failure.line, failure.error.field) for failure in first.failures] == [
        (18, "line"), (1_235, "timestamp"), (1_500, "text"),
    ]  # fmt: skip
    assert all(failure.error.remedy for failure in first.failures)
    assert progress == [500, 1_000, 1_500]
    again = await rag.history.import_lines(str(file))
    assert (again.created, again.updated, again.unchanged, len(again.failures)) == (0, 0, 1_496, 3)
    longer = await rag.history.import_lines([*lines, json.dumps({"ts": 2_000_000_000, "text": "Más."}).encode()])
    assert (longer.created, longer.unchanged) == (1, 1_496)
    page, _ = await rag.history.list(filters={"speaker": "Priya", "session": "goa"}, limit=3)
    assert [item.speaker for item in page] == ["Priya"] * 3


async def test_a_turn_of_somebody_else_stops_no_other(open_rag: OpenRag) -> None:
    rag = await open_rag()
    ana = rag.as_principal(Principal(subject="ana"))
    await ana.history.add("Privado.", external_id="x", visibility_scope=VisibilityScope.PRIVATE)
    lines = [*export(30), b'{"external_id": "x", "ts": 1, "text": "intruso"}', *export(30, session="otra")]
    report = await rag.history.import_lines(lines)
    assert (report.created, [(failure.line, failure.error.code) for failure in report.failures]) == (
        60,
        [(31, "conflict")],
    )
    assert (await ana.history.get("x")).text == "Privado."


async def test_text_that_is_hard_to_keep(open_rag: OpenRag) -> None:
    rag = await open_rag()
    nasty = "uno\x00dos \u202ehola\u202c 👩‍👩‍👧 " + "ab" * 3000 + " \\x00 %s $1 ' \" \u2028"
    await rag.memory.add(
        nasty, external_id="n", speaker="O'Brien; DROP TABLE", metadata={"k\u202e": "\u200b", "big": 10**40}
    )
    item = await rag.memory.get("n")
    assert item.text == nasty.replace("\x00", " ")
    assert item.attributes.metadata["big"] == 10**40
    for bad in ("\ud800", " ", ""):
        with pytest.raises(InvalidInputError):
            await rag.memory.add(bad)
    with pytest.raises(InvalidInputError):
        await rag.memory.add("x", metadata={"k": "\x00"})


async def test_facets_count_what_the_caller_may_read(open_rag: OpenRag) -> None:
    rag = await open_rag()
    ana = rag.as_principal(Principal(subject="ana"))
    await rag.ingest_text("a.md", "# Contrato\n\nTexto.")
    await rag.memory.add("uno", occurred_at=datetime(2026, 3, 1, tzinfo=UTC))
    await ana.memory.add("dos", visibility_scope=VisibilityScope.PRIVATE, occurred_at=datetime(2026, 3, 9, tzinfo=UTC))
    await rag.history.add("tres", occurred_at=datetime(2026, 4, 1, tzinfo=UTC), language="en")
    counts = (await rag.facets()).counts
    assert counts["collection"] == {"artifacts": 1, "artifact_chunks": 1, "memory": 1, "history": 1}
    assert counts["month"]["2026-03"] == 1
    assert (await ana.facets()).counts["month"]["2026-03"] == 2
    assert (await rag.facets(filters={"language": "en"})).counts["collection"] == {"history": 1}


def test_the_blocking_object_has_them_too(dsn: str) -> None:
    parts = ragcorp.Parts(embedder=HashingEmbedder())
    with ragcorp.open(database_url=dsn, embedding_provider="none", parts=parts) as rag:
        made = rag.memory.add("Priya vive en Pune.", artifact_type="person")
        assert rag.memory.get(made.external_id).text == "Priya vive en Pune."
        assert rag.history.import_lines(export(3)).created == 3
        assert [item.speaker for item in rag.history.list()[0]].count("Rajesh") == 2
        rag.ingest_text("a.md", "Uno.")
        (chunk,), _ = rag.chunks.list(artifact="a.md")
        assert rag.chunks.replace(chunk.id, "Dos.").artifact.chunks == 1
        assert "add" in dir(rag.memory)
        assert {"memory", "history", "chunks"} <= set(dir(rag))
