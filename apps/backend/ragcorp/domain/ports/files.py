"""Port for files that are ingested from a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ragcorp.domain.documents import SourceFile


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file to ingest: its path, and its name relative to the folder, with '/' between parts."""

    path: Path
    relative: str


class DocumentFiles(Protocol):
    """Finds and reads files. Blocking: callers run it in a worker thread."""

    def find(self, root: Path) -> list[FileEntry]:
        """Return the files below ``root`` that can be ingested, in a fixed order. Raises NotFoundError."""
        ...

    def read(self, entry: FileEntry) -> SourceFile:
        """Raises PayloadTooLargeError, NotFoundError or UnreadableDocumentError."""
        ...
