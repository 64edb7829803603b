"""Who may read a file: the workspace, the clearance, and the documents that the file may be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from ragcorp.domain.exceptions import (
    FileAccessDeniedError,
    FileAccessError,
    FileNotFoundInRootsError,
    FileTooLargeError,
    InvalidInputError,
    StorageUnavailableError,
)
from ragcorp.domain.files.values import FileAccess, FileText
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.file_search import FileLines, StoredLines
from ragcorp.domain.principal import Principal, Sensitivity
from support.files.roots import (
    MAX_READ,
    ReadingRepository,
    WithheldDocuments,
    open_descriptors,
    read_file_over,
    reader_of,
    roots_of,
    write,
)

pytestmark = pytest.mark.anyio

READER = Principal()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write(tmp_path / "docs", {"a.md": "uno\ndos\ntres\n", "sub/b.md": "b", "long.md": "x" * (MAX_READ + 1)})


async def test_a_reader_whom_the_roots_admit(docs: Path) -> None:
    read_file = read_file_over(roots_of(docs))
    assert await read_file.read("a.md", principal=READER, line_start=2, line_end=3) == FileText(
        path="docs/a.md", text="dos\ntres", line_start=2, line_end=3, total_lines=3
    )


@pytest.mark.parametrize(
    "principal", [Principal(workspace="otra"), Principal(clearance=Sensitivity.PUBLIC), Principal(workspace="default2")]
)
@pytest.mark.parametrize("path", ["a.md", "missing.md", "../x", "docs"])
async def test_for_others_it_is_as_if_there_were_no_roots(docs: Path, principal: Principal, path: str) -> None:
    read_file = read_file_over(roots_of(docs), access=FileAccess(sensitivity=Sensitivity.NORMAL))
    with pytest.raises(FileAccessDeniedError) as raised:
        await read_file.read(path, principal=principal)
    assert str(raised.value) == "[ERROR: ACCESS_DENIED] No roots are allowed: set ALLOWED_PATHS."


async def test_the_clearance_that_the_roots_ask_for_is_enough(docs: Path) -> None:
    read_file = read_file_over(roots_of(docs), access=FileAccess(sensitivity=Sensitivity.CONFIDENTIAL))
    for clearance in (Sensitivity.CONFIDENTIAL, Sensitivity.RESTRICTED):
        assert (await read_file.read("sub/b.md", principal=Principal(clearance=clearance))).text == "b"


@pytest.mark.parametrize("stored", ["docs/long.md", "long.md"])
@pytest.mark.parametrize("asked", ["docs/long.md", "long.md", "./long.md"])
async def test_a_withheld_document_looks_like_what_lies_outside_even_by_its_size(
    docs: Path, stored: str, asked: str
) -> None:
    read_file = read_file_over(roots_of(docs), documents=WithheldDocuments(withheld=frozenset({stored})))
    messages = []
    for path in (asked, "../outside"):
        with pytest.raises(FileAccessDeniedError) as raised:
            await read_file.read(path, principal=READER)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert messages[0].endswith("Allowed roots: docs.")


async def test_nothing_is_read_while_the_documents_cannot_be_asked(docs: Path) -> None:
    class Down:
        async def look_up(
            self, lines: Sequence[FileLines], *, principal: Principal, filters: Filters = ()
        ) -> list[StoredLines]:
            raise StorageUnavailableError("The database is down.")

    with pytest.raises(StorageUnavailableError):
        await read_file_over(roots_of(docs), documents=Down()).read("a.md", principal=READER)


async def test_errors_reach_the_caller_as_they_are(docs: Path) -> None:
    read_file = read_file_over(roots_of(docs))
    for path, kind in (("none.md", FileNotFoundInRootsError), ("sub", FileAccessDeniedError), ("", InvalidInputError)):
        with pytest.raises(kind):
            await read_file.read(path, principal=READER)
    with pytest.raises(FileTooLargeError):
        await read_file.read("long.md", principal=READER)
    with pytest.raises(InvalidInputError):
        await read_file.read("a.md", principal=READER, line_start=3, line_end=2)


async def test_a_file_that_takes_the_place_of_the_checked_one_in_another_root_is_not_read(docs: Path) -> None:
    write(docs.parent / "code", {"docs/a.md": "unchecked"})
    roots = roots_of(docs, docs.parent / "code")

    class Removing(WithheldDocuments):
        async def look_up(
            self, lines: Sequence[FileLines], *, principal: Principal, filters: Filters = ()
        ) -> list[StoredLines]:
            (docs / "a.md").unlink()
            return [StoredLines() for _ in lines]

    with pytest.raises(FileAccessError, match="NOT_FOUND"):
        await read_file_over(roots, documents=Removing()).read("docs/a.md", principal=READER)


async def test_many_at_once_and_cancelled_ones_leave_no_descriptor_open(docs: Path) -> None:
    roots = roots_of(docs)
    read_file = read_file_over(roots, reader=reader_of(roots))
    await read_file.read("a.md", principal=READER)
    before = open_descriptors()
    texts: list[str] = []

    async def read() -> None:
        texts.append((await read_file.read("a.md", principal=READER)).text)

    async with anyio.create_task_group() as group:
        for _ in range(40):
            group.start_soon(read)
    assert texts == ["uno\ndos\ntres"] * 40
    async with anyio.create_task_group() as group:
        for _ in range(40):
            group.start_soon(read)
        await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert len(texts) < 80
    assert open_descriptors() == before


async def test_a_repository_that_reads_in_threads_names_the_file_that_it_reads(docs: Path) -> None:
    roots = roots_of(docs)
    repository = ReadingRepository(roots, reader_of(roots))
    assert await repository.names("a.md") == ("docs/a.md", "a.md")
    assert (await repository.read("a.md")).path == "docs/a.md"
