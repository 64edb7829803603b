"""A watch names what it leaves out, once, and what it does not read of a file."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import UnreadKind
from ragcorp.domain.ports.folders import LeftOutFile, LeftOutReason, WatchKind, WatchMemory
from support.files.watched_trees import Events, Folder, put
from support.parsing.partly_read import pdf_with_scanned_pages

pytestmark = pytest.mark.anyio


def left_out(events: Events) -> list[LeftOutFile]:
    return [file for event in events.told for file in event.left_out]


async def test_a_file_that_is_left_out_is_named_once(folder: Folder) -> None:
    put(folder.root / "a.md", "texto")
    put(folder.root / "~$a.docx", "ana")
    put(folder.root / "vacio.md", "")
    put(folder.root / "blanco.md", " \n")
    put(folder.root / "datos.bin", "x")
    put(folder.root / ".gitignore", "*.bin\n.gitignore\n")
    memory, events = WatchMemory(), Events()
    for _ in range(2):
        counts = (await folder.compared(memory, events)).counts
        assert counts.failed == 0
    assert left_out(events) == [
        LeftOutFile("blanco.md", LeftOutReason.EMPTY),
        LeftOutFile("vacio.md", LeftOutReason.EMPTY),
        LeftOutFile("~$a.docx", LeftOutReason.LOCK_FILE),
    ]
    assert [event.ignored for event in events.told if event.left_out] == [2]
    put(folder.root / "foto.png", "x")
    await folder.compared(memory, events, below={"foto.png"})
    assert left_out(events)[3:] == [LeftOutFile("foto.png", LeftOutReason.KIND)]


async def test_a_file_that_becomes_empty_keeps_its_document(folder: Folder) -> None:
    put(folder.root / "a.md", "texto")
    put(folder.root / "b.md", "texto")
    memory, events = WatchMemory(), Events()
    await folder.compared(memory, events)
    put(folder.root / "a.md", "")
    put(folder.root / "b.md", "\n")
    await folder.compared(memory, events)
    assert left_out(events) == [LeftOutFile(name, LeftOutReason.EMPTY) for name in ("a.md", "b.md")]
    assert await folder.names() == ["a.md", "b.md"]
    put(folder.root / "b.md", "vuelve")
    assert (await folder.compared(memory, events)).counts.updated == 1


async def test_an_event_names_what_was_not_read(folder: Folder) -> None:
    put(folder.root / "a.md", "texto")
    path = folder.root / "plazos.pdf"
    put(path, "")
    path.write_bytes(pdf_with_scanned_pages())
    memory, events = WatchMemory(), Events()
    memory.moving["plazos.pdf"] = 0
    await folder.compared(memory, events)
    unread = {event.external_id: event.unread for event in events.told if event.kind is WatchKind.CREATED}
    assert unread["a.md"] == ()
    assert [(part.kind, part.places) for part in unread["plazos.pdf"]] == [(UnreadKind.PAGE, ("2", "4"))]
