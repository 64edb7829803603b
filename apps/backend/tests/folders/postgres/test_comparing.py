"""One comparison of a tree: at a start, at a restart, and after what happened between them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragcorp.application.documents.preparation import content_hash
from ragcorp.application.folders.documents import is_settled
from ragcorp.domain.documents import DocumentAttributes, SourceFile
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.ports.folders import FileClaim, FileStamp, ScannedFile, SyncCounts, WatchKind
from ragcorp.domain.principal import Principal
from ragcorp.main.wiring.base import Parts
from support.files.watched_trees import Events, Folder, FolderOf, put
from support.models.embedders import HashingEmbedder
from support.retrieval.corpus import count, found

pytestmark = pytest.mark.anyio

ANYONE = Principal()
KEPT, DELETED, FAILED = WatchKind.KEPT, WatchKind.DELETED, WatchKind.FAILED


def age(folder: Folder, dsn: str) -> None:
    """Make the records look as if they had been taken a while ago: a change of an inode cannot be made old."""
    assert folder.root.exists()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("UPDATE folder_files SET settled = true")


async def test_what_is_in_step_is_not_read_again(folder: Folder, dsn: str) -> None:
    for name in ("a.md", "b.md", "sub/c.py"):
        put(folder.root / name, f"texto de {name}")
    assert await folder.once() == SyncCounts(files=3, created=3)
    age(folder, dsn)
    folder.read.clear()
    assert await folder.once() == SyncCounts(files=3, unchanged=3)
    assert folder.read == []


async def test_a_file_that_was_looked_at_right_after_its_change_is_read_once_more(folder: Folder, dsn: str) -> None:
    put(folder.root / "a.md", "uno")
    await folder.once()
    folder.read.clear()
    assert await folder.once() == SyncCounts(files=1, unchanged=1)
    assert folder.read == ["a.md"]
    stamp = FileStamp(3, 5_000_000_000, 7_000_000_000)
    assert [is_settled(stamp, now) for now in (6_000_000_000, 8_999_999_999, 9_000_000_000)] == [False, False, True]
    # same size, same time of change: the time of the inode alone tells the two apart
    before = (folder.root / "a.md").stat()
    put(folder.root / "a.md", "dos")
    assert (folder.root / "a.md").stat().st_mtime_ns == before.st_mtime_ns
    assert await folder.once() == SyncCounts(files=1, updated=1)
    assert await found(folder.rag, "dos") == ["a.md"]
    # and once a look came late enough, its time of change is believed, but for that of the inode
    age(folder, dsn)
    put(folder.root / "a.md", "mil")
    assert await folder.once() == SyncCounts(files=1, updated=1)


async def test_what_happened_while_it_was_off(folder: Folder) -> None:
    for name in ("stays.md", "edited.md", "deleted.md", "renamed.md"):
        put(folder.root / name, f"texto de {name}")
    await folder.once()
    put(folder.root / "edited.md", "un texto distinto")
    (folder.root / "deleted.md").unlink()
    (folder.root / "renamed.md").rename(folder.root / "new name.md")
    put(folder.root / "added.md", "nuevo")
    events = Events()
    assert await folder.once(events=events) == SyncCounts(files=4, created=2, updated=1, unchanged=1, deleted=2)
    assert await folder.names() == ["added.md", "edited.md", "new name.md", "stays.md"]
    assert sorted(map(str, events.of(DELETED))) == ["deleted.md", "renamed.md"]
    assert (await folder.rag.restore("deleted.md")).external_id == "deleted.md"


async def test_a_rename_costs_no_second_vector(make_container: Callable[..., Any], folder_of: FolderOf) -> None:
    embedder = HashingEmbedder()
    folder = folder_of(await make_container(embed_wait_seconds=0, parts=Parts(embedder=embedder)))
    put(folder.root / "notas" / "a.md", "# Título\n\nLa aguja está en el pajar.")
    await folder.once()
    await folder.rag.embed_pending()
    embedded = len(embedder.embedded)
    (folder.root / "notas").rename(folder.root / "archivo")
    assert (await folder.once()).deleted == 1
    assert (await folder.rag.pending()).pending == 0
    assert len(embedder.embedded) == embedded


async def test_only_what_was_stored_from_the_tree_is_deleted(folder: Folder) -> None:
    await folder.rag.ingest_text("uploaded.md", "subido a mano")
    await folder.rag.ingest_bytes("same.md", b"lo mismo", filename="same.md")
    await folder.rag.ingest_text("outside/x.md", "subido también")
    put(folder.root / "same.md", "lo mismo")
    put(folder.root / "ours.md", "nuestro")
    put(folder.root / "replaced.md", "antes")
    put(folder.root / "stays.md", "queda")
    await folder.once()
    await folder.rag.ingest_text("replaced.md", "subido encima")
    for name in ("same.md", "ours.md", "replaced.md"):
        (folder.root / name).unlink()
    put(folder.root / "other.md", "otro")
    events = Events()
    await folder.once(events=events)
    assert events.of(DELETED) == ["ours.md"]
    assert sorted(map(str, events.of(KEPT))) == ["replaced.md", "same.md"]
    assert await folder.names() == [*("other.md", "outside/x.md", "replaced.md", "same.md", "stays.md", "uploaded.md")]
    again = Events()
    await folder.once(events=again)
    assert again.of(KEPT) == []


async def test_an_ingested_folder_is_the_trees_own(folder: Folder) -> None:
    put(folder.root / "a.md", "uno")
    put(folder.root / "b.md", "dos")
    report = await folder.ingest.ingest(folder.root, principal=ANYONE)
    assert report.created == 2
    (folder.root / "a.md").unlink()
    assert await folder.once() == SyncCounts(files=1, unchanged=1, deleted=1)
    assert await folder.names() == ["b.md"]


async def test_a_tree_with_another_prefix_is_another(folder: Folder) -> None:
    put(folder.root / "a.md", "uno")
    put(folder.root / "b.md", "dos")
    await folder.once(prefix="x/")
    await folder.once(prefix="y/")
    (folder.root / "a.md").unlink()
    assert (await folder.once(prefix="x/")).deleted == 1
    assert await folder.names() == ["x/b.md", "y/a.md", "y/b.md"]


async def test_a_tree_that_was_moved_is_taken_over(folder: Folder, folder_of: FolderOf, tmp_path: Path) -> None:
    put(folder.root / "a.md", "uno")
    put(folder.root / "b.md", "dos")
    await folder.once()
    folder.root.rename(tmp_path / "moved")
    moved = folder_of(folder.container, tmp_path / "moved")
    assert await moved.once() == SyncCounts(files=2, unchanged=2)
    (moved.root / "a.md").unlink()
    assert (await moved.once()).deleted == 1
    assert await folder.names() == ["b.md"]


async def test_a_document_that_is_gone_comes_back(folder: Folder, dsn: str) -> None:
    put(folder.root / "a.md", "uno")
    await folder.once()
    age(folder, dsn)
    await folder.rag.delete("a.md")
    assert await folder.once() == SyncCounts(files=1, created=1)


async def test_the_path_for_callers(folder: Folder, folder_of: FolderOf, dsn: str) -> None:
    put(folder.root / "sub" / "a.md", "aguja")
    await folder.once()
    assert (await folder.rag.document("sub/a.md")).attributes.path == "sub/a.md"
    age(folder, dsn)
    named = folder_of(folder.container, logical_path=lambda path: f"docs/{path.relative_to(folder.root).as_posix()}")
    assert await named.once() == SyncCounts(files=1, updated=1)
    assert (await folder.rag.document("sub/a.md")).attributes.path == "docs/sub/a.md"
    hit = (await folder.rag.search("aguja", mode="sparse")).hits[0]
    assert (hit.chunk.path, hit.chunk.line_start) == ("docs/sub/a.md", 1)
    await folder.rag.delete("sub/a.md")
    await folder.rag.restore("sub/a.md")
    assert (await folder.rag.document("sub/a.md")).attributes.path == "docs/sub/a.md"
    age(folder, dsn)
    assert await named.once() == SyncCounts(files=1, unchanged=1)
    assert (await named.ingest.ingest(folder.root, principal=ANYONE)).unchanged == 1
    # named as the document is: nothing to be said twice
    assert (await named.ingest.ingest(folder.root, principal=ANYONE, prefix="docs/")).created == 1
    assert (await folder.rag.document("docs/sub/a.md")).attributes.path == "docs/sub/a.md"


async def test_other_attributes_are_another_document(folder: Folder, dsn: str) -> None:
    put(folder.root / "a.py", "def aguja():\n    return 1\n")
    put(folder.root / "b.md", "dos")
    await folder.once(by_kind=True)
    assert await found(folder.rag, "aguja", filters={"artifact_type": "code"}) == ["a.py"]
    assert (await folder.rag.document("b.md")).attributes.artifact_type == "document"
    age(folder, dsn)
    assert await folder.once() == SyncCounts(files=2, updated=1, unchanged=1)
    assert (await folder.rag.document("a.py")).attributes.artifact_type == "document"


async def test_code_that_was_cut_as_markdown_is_cut_anew_and_nothing_else_is(folder: Folder, owner_dsn: str) -> None:
    put(folder.root / "a.py", "# Derechos\n\ndef aguja():\n    return 1\n")
    put(folder.root / "b.md", "# Título\n\nEl pajar.\n")
    await folder.once()
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        assert connection.execute("SELECT external_id, chunker FROM documents ORDER BY 1").fetchall() == [
            ("a.py", "lines-1:256:32"),
            ("b.md", "structure-1:256:32"),
        ]
        connection.execute("UPDATE documents SET chunker = 'structure-1:256:32'")
        connection.execute("UPDATE folder_files SET described = ''")
    assert await folder.once() == SyncCounts(files=2, updated=1, unchanged=1)
    await folder.rag.delete("a.py")
    await folder.rag.restore("a.py")
    hit = (await folder.rag.search("aguja", mode="sparse")).hits[0]
    assert (hit.chunk.external_id, hit.chunk.heading_path, hit.chunk.line_start) == ("a.py", (), 1)
    hit = (await folder.rag.search("pajar", mode="sparse")).hits[0]
    assert hit.chunk.heading_path == ("Título",)


async def test_only_the_named_paths_are_looked_at(folder: Folder) -> None:
    for name in ("a.md", "sub/b.md", "sub/c.md", "sub0.md", "sub-x/d.md"):
        put(folder.root / name, name)
    await folder.once()
    for name in ("a.md", "sub/b.md", "sub0.md", "sub-x/d.md"):
        (folder.root / name).unlink()
    events = Events()
    await folder.once(below={"sub", "nowhere"}, events=events)
    assert events.of(DELETED) == ["sub/b.md"]
    await folder.once(below={"sub0.md"}, events=events)
    assert events.of(DELETED) == ["sub/b.md", "sub0.md"]


async def test_names_of_all_kinds(folder: Folder) -> None:
    names = ["año nuevo.md", "100%_x.md", "a'b\".md", "línea\nrota.md"]
    for name in names:
        put(folder.root / name, name)
    (folder.root / os.fsdecode(b"\xff.md")).write_bytes(b"texto")
    os.utime(folder.root / os.fsdecode(b"\xff.md"), (0, 0))
    report = await folder.ingest.ingest(folder.root, principal=ANYONE, prefix="x/")
    assert sorted(failure.external_id for failure in report.failures) == ["x/\\xff.md", "x/línea\\x0arota.md"]
    events = Events()
    assert (await folder.once(events=events)).created == 3
    assert sorted(map(str, events.of(FAILED))) == ["\\xff.md", "línea\\x0arota.md"]
    assert (await folder.once(below={os.fsdecode(b"\xff.md"), "100%_x.md"})).files == 2
    (folder.root / "100%_x.md").unlink()
    assert (await folder.once()).deleted == 1


async def test_a_large_tree_keeps_no_contents(folder: Folder) -> None:
    """What a scan returns knows of its files by name and stamp alone."""
    put(folder.root / "a.md", "x" * 1000)
    (found_file,) = folder.files.scan(folder.files.locate(folder.root)).files
    assert isinstance(found_file, ScannedFile)
    assert {type(value) for value in found_file.stamp} == {int}


async def test_a_claim_on_what_others_stored_is_none(folder: Folder, dsn: str) -> None:
    stored = await folder.rag.ingest_bytes("a.md", b"texto", filename="a.md")
    assert stored.chunks == 1
    request = IngestRequest(
        external_id="a.md",
        file=SourceFile(content=b"texto", media_type="text/markdown", filename="a.md"),
        attributes=DocumentAttributes(language="es"),
    )
    tree = folder.files.locate(folder.root)
    await folder.records.claim(tree.key, [FileClaim("a.md", "a.md", content_hash(request))], principal=ANYONE)
    (existing,) = await folder.records.recorded(tree.key, prefix="", principal=ANYONE)
    assert (existing.stored, existing.owned) == (True, False)
    assert await folder.records.forget(tree.key, ["a.md"], principal=ANYONE) == frozenset()
    assert count(dsn, "folder_files") == 0
    assert (await folder.rag.document("a.md")).external_id == "a.md"


async def test_another_workspace_is_another_tree(folder: Folder) -> None:
    put(folder.root / "a.md", "uno")
    await folder.once()
    tree = folder.files.locate(folder.root)
    other = Principal(workspace="other")
    assert await folder.records.recorded(tree.key, prefix="", principal=other) == []
    assert await folder.records.forget(tree.key, ["a.md"], principal=other) == frozenset()
    with pytest.raises(NotFoundError):
        await folder.rag.as_principal(other).document("a.md")
    assert await folder.names() == ["a.md"]
