"""Trees of real files below roots, with what must never be read beside them."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio.to_thread

from ragcorp.application.files.read import ReadFile
from ragcorp.domain.exceptions import FileAccessError
from ragcorp.domain.files.values import FileAccess, FileText
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.file_search import FileLines, StoredLines
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.roots import Root
from ragcorp.infrastructure.files.safe_open import Roots
from ragcorp.infrastructure.parsing.decoding import decode_with_name

CANARY = "CANARIO-7f3a9c"
"""Stands in every file outside the roots, and in none inside."""

MAX_FILE = 64 * 1024
MAX_READ = 16 * 1024


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for relative, content in files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def roots_of(*folders: Path, excluded: Sequence[Path] = (), hard_links: bool = False) -> Roots:
    return Roots(
        [Root(name=folder.name, path=Path(os.path.realpath(folder))) for folder in folders],
        excluded=excluded,
        hard_links=hard_links,
    )


def reader_of(roots: Roots, *, max_file: int = MAX_FILE, max_read: int = MAX_READ) -> FileReader:
    return FileReader(roots=roots, decode=decode_with_name, max_file_bytes=max_file, max_read_bytes=max_read)


def said(reader: FileReader, path: str) -> str:
    """Return the text of a file, or that of the error: what ``read_file`` shows."""
    try:
        return reader.read(path).text
    except FileAccessError as error:
        return str(error)


def open_descriptors() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def dangerous_tree(folder: Path) -> Path:
    """Return a root that holds a link of every kind to the secrets beside it, and what no reader may open."""
    write(
        folder,
        {
            "secreto.txt": CANARY,
            "docs-secret/s.txt": CANARY,
            "docs/léeme.md": "hola",
            "docs/plain.txt": "one\ntwo",
            "docs/sub/a.txt": "inside a",
            "docs/sub/deep/b.txt": "inside b",
            "docs/...": "three dots",
            "docs/back\\slash.txt": "inside backslash",
            "docs/sub/..\\secreto.txt": "inside trick",
        },
    )
    root = folder / "docs"
    (root / "link").symlink_to(folder / "secreto.txt")
    (root / "relative-link").symlink_to("../secreto.txt")
    (root / "folder-link").symlink_to(folder / "docs-secret")
    (root / "up-link").symlink_to("..")
    (root / "own-link").symlink_to("plain.txt")
    (root / "own-folder-link").symlink_to("sub")
    (root / "dangling").symlink_to(folder / "missing")
    (root / "loop").symlink_to("loop")
    (root / "proc-link").symlink_to("/proc/self/environ")
    (root / "hard-link").hardlink_to(folder / "secreto.txt")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener, chdir(root):  # the whole path may be too long for a socket
        listener.bind("socket")
    return root


@dataclass(frozen=True, slots=True, kw_only=True)
class WithheldDocuments:
    """Fake of the port FileDocuments: documents of these paths may not be read. ``asked`` holds the names asked for."""

    withheld: frozenset[str] = frozenset()
    asked: list[tuple[str, ...]] = field(default_factory=list)

    async def look_up(
        self, lines: Sequence[FileLines], *, principal: Principal, filters: Filters = ()
    ) -> list[StoredLines]:
        self.asked.extend(item.names for item in lines)
        return [StoredLines(readable=self.withheld.isdisjoint(item.names)) for item in lines]


class ReadingRepository:
    """The reading half of the port FileRepository."""

    def __init__(self, roots: Roots, reader: FileReader) -> None:
        self.roots = roots.names
        self._reader = reader

    async def names(self, path: str) -> tuple[str, ...]:
        return await anyio.to_thread.run_sync(self._reader.names, path)

    async def read(self, path: str, *, line_start: int | None = None, line_end: int | None = None) -> FileText:
        read = partial(self._reader.read, path, line_start=line_start, line_end=line_end)
        return await anyio.to_thread.run_sync(read)

    async def read_passages(self, path: str, spans: Sequence[tuple[int, int]]) -> list[FileText]:
        return await anyio.to_thread.run_sync(self._reader.read_passages, path, spans)


def read_file_over(
    roots: Roots, *, documents: object | None = None, access: FileAccess | None = None, reader: FileReader | None = None
) -> ReadFile:
    return ReadFile(
        files=ReadingRepository(roots, reader or reader_of(roots)),  # type: ignore[arg-type]
        documents=documents or WithheldDocuments(),  # type: ignore[arg-type]
        access=access or FileAccess(),
    )
