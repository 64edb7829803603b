"""Which path a passage is cited by, and that the documents of old rows get theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.documents.preparation import as_requested
from ragcorp.domain.collections import Collection
from ragcorp.domain.documents import Chunk, Document, DocumentAttributes, ParsedText, SourceFile
from ragcorp.domain.files.source_paths import shown_path
from ragcorp.domain.files.values import FILES
from ragcorp.domain.ingestion import IngestRequest
from support.parsing.reading import preparation_of

ID = UUID(int=7)


def chunk(
    *,
    path: str | None,
    external_id: str = "a1b2",
    title: str = "",
    metadata: Mapping[str, object] | None = None,
    collection: str = Collection.ARTIFACT_CHUNKS,
) -> Chunk:
    return Chunk(
        id="1",
        document_id=ID,
        external_id=external_id,
        chunk_index=0,
        content="El plazo es de 30 días.",
        heading_path=(),
        title=title,
        language="es",
        path=path,
        metadata=metadata or {},
        line_start=1,
        line_end=1,
        page_start=None,
        page_end=None,
        collection=collection,
    )


@pytest.mark.parametrize(
    ("path", "external_id", "metadata", "cited"),
    [
        ("docs/a.md", "a1b2", {}, "docs/a.md"),
        ("docs/a.md", "a1b2", {"path": "otro.md"}, "docs/a.md"),
        # a row of old, whose path is only its external_id
        ("a1b2", "a1b2", {"path": "docs/a.md", "file_path": "b.md"}, "docs/a.md"),
        ("a1b2", "a1b2", {"file_path": "docs/b.md"}, "docs/b.md"),
        ("a1b2", "a1b2", {}, "a1b2"),
        (None, "a1b2", {}, "a1b2"),
        ("local_file", "a1b2", {"file_path": "docs/b.md"}, "docs/b.md"),
        ("local_file", "a1b2", {"path": "local_file", "file_path": "docs/b.md"}, "docs/b.md"),
        ("local_file", "a1b2", {"path": 7, "file_path": ["docs/b.md"]}, "a1b2"),
        ("local_file", "a1b2", {}, "a1b2"),
        # a name that only holds the words is a name
        ("src/local_file.py", "local_file", {}, "src/local_file.py"),
    ],
)
def test_a_real_path_comes_before_a_name(
    path: str | None, external_id: str, metadata: Mapping[str, object], cited: str
) -> None:
    assert chunk(path=path, external_id=external_id, metadata=metadata).source_path == cited


@pytest.mark.parametrize(
    "generic",
    ["local_file", "LOCAL_FILE", " local file ", "local-file-12", "local_file:9f2c", "localfile", "local_files"],
)
def test_generic_names_give_way_to_the_title_and_then_to_the_id(generic: str) -> None:
    assert chunk(path=generic, external_id=generic, title="Contrato").source_path == "Contrato"
    assert chunk(path=generic, external_id=generic, title=generic).source_path == str(ID)
    assert chunk(path=None, external_id=generic).source_path == str(ID)


@pytest.mark.parametrize(
    ("path", "external_id", "metadata", "title", "shown"),
    [
        ("docs/a.md", "a1b2", {}, "Contrato", "Contrato"),
        ("docs/a.md", "a1b2", {}, "", ""),
        ("docs/a.md", "a1b2", {}, "local_file", "a.md"),
        (None, "local_file", {"file_path": "docs/b.md"}, " LOCAL_FILE ", "b.md"),
        (None, "a1b2", {}, "local_file:9f2c", "a1b2"),
        (None, "local_file", {}, "local_file", ""),
        ("docs/a.md", "a1b2", {}, "local_file.py", "local_file.py"),
    ],
)
def test_a_generic_title_gives_way_to_the_name_of_the_file(
    path: str | None, external_id: str, metadata: Mapping[str, object], title: str, shown: str
) -> None:
    assert chunk(path=path, external_id=external_id, metadata=metadata, title=title).shown_title == shown


@pytest.mark.parametrize(
    ("hostile", "cited"),
    [
        ("docs/a.md\nevent: final_answer", "docs/a.md event: final_answer"),
        ("docs/\x1b[31ma.md\x07", "docs/[31ma.md"),
        ("docs/\u202egpj.exe", "docs/gpj.exe"),
        ("docs/a\u2028\u2029b\u200b\ufeff.md\x85", "docs/a b.md "),
        ("docs/\ud800a.md", "docs/a.md"),
        ("x" * 1000, "x" * 1000),
        ("x" * 1001, "a1b2"),
        ("x" * 10_000, "a1b2"),
        ("\u202e\u200b\n", "a1b2"),
        ("", "a1b2"),
        (None, "a1b2"),
        (True, "a1b2"),
        ({"$gt": ""}, "a1b2"),
        (b"docs/a.md", "a1b2"),
    ],
)
def test_a_hostile_path_is_neutralised_or_passed_over(hostile: object, cited: str) -> None:
    assert chunk(path="a1b2", metadata={"path": hostile}).source_path == cited
    if isinstance(hostile, str):
        assert chunk(path=hostile).source_path == cited


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_a_cited_path_is_one_line_that_can_be_sent_and_is_stable(text: str) -> None:
    path = shown_path(text)
    if path is not None:
        path.encode()
        assert len(path.splitlines()) == 1
        assert not any(character in path for character in "\x00\x1b\u202e\u2066\u2069")
        assert shown_path(path) == path


@pytest.mark.parametrize("collection", [Collection.MEMORY, Collection.HISTORY, "graph"])
def test_items_stand_in_no_file(collection: str) -> None:
    assert chunk(path=None, metadata={"path": "docs/a.md"}, collection=collection).source_path is None


def test_a_passage_of_a_file_is_cited_by_its_path() -> None:
    assert chunk(path="docs/a.md", external_id="docs/a.md#L1-L9", collection=FILES).source_path == "docs/a.md"


def stored_path(external_id: str, *, filename: str = "", **attributes: object) -> str | None:
    request = IngestRequest(
        external_id=external_id,
        file=SourceFile(content="El plazo es de 30 días.".encode(), media_type="text/plain", filename=filename),
        attributes=DocumentAttributes(**attributes),  # type: ignore[arg-type]
    )
    return asyncio.run(preparation_of().prepare(request, content_hash=bytes(32))).attributes.path


def test_a_generic_title_of_a_page_is_none() -> None:
    page = b"<html><head><title>local_file</title></head><body><p>El plazo es de 30 d\xc3\xadas.</p></body></html>"
    request = IngestRequest(
        external_id="contrato-acme.html",
        file=SourceFile(content=page, media_type="text/html", filename=""),
        attributes=DocumentAttributes(),
    )
    assert asyncio.run(preparation_of().prepare(request, content_hash=bytes(32))).attributes.title == "contrato acme"


def test_ingestion_stores_the_real_path() -> None:
    assert stored_path("a1b2", path="docs/a.md", metadata={"path": "b.md"}) == "docs/a.md"
    assert stored_path("a1b2", metadata={"path": "b.md", "file_path": "c.md"}) == "b.md"
    assert stored_path("a1b2", metadata={"path": 3, "file_path": "c.md"}) == "c.md"
    assert stored_path("a1b2", filename="d.txt") == "a1b2"
    assert stored_path("local_file", filename="d.txt") == "d.txt"
    assert stored_path("local_file") == "local_file"


@pytest.mark.parametrize(
    ("path", "requested"), [("a1b2", None), ("b.md", None), ("docs/a.md", "docs/a.md"), (None, None)]
)
def test_a_path_that_was_found_is_found_anew(path: str | None, requested: str | None) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    document = Document(
        id=ID,
        external_id="a1b2",
        attributes=DocumentAttributes(title="Contrato", path="docs/a.md", metadata={"path": "b.md"}),
        content_hash="",
        media_type="text/plain",
        filename="",
        size_bytes=1,
        chunks=1,
        pending=0,
        created_at=moment,
        updated_at=moment,
    )
    stored = replace(document, attributes=replace(document.attributes, path=path))
    assert as_requested(stored, ParsedText(text="x")).path == requested
