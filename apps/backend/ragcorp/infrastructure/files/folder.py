"""The port DocumentFiles over the file system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import MissingFileError, NotFoundError, PayloadTooLargeError, UnreadableDocumentError
from ragcorp.domain.ports.files import FileEntry


class LocalFiles:
    """Walks folders. Hidden files and folders are left out; symbolic links are not followed."""

    def __init__(self, *, suffixes: frozenset[str], max_bytes: int) -> None:
        self._suffixes = suffixes
        self._max_bytes = max_bytes

    def find(self, root: Path) -> list[FileEntry]:
        if root.is_file():
            return [FileEntry(path=root, relative=root.name)]
        if not root.is_dir():
            raise MissingFileError("There is no such file or folder.", field="path", remedy="Check the path.")
        entries = [FileEntry(path=path, relative=path.relative_to(root).as_posix()) for path in self._walk(root)]
        return sorted(entries, key=lambda entry: entry.relative)

    def read(self, entry: FileEntry) -> SourceFile:
        try:
            with entry.path.open("rb") as file:
                content = file.read(self._max_bytes + 1)
        except FileNotFoundError:
            raise NotFoundError("The file is gone.", field="path") from None
        except OSError as error:
            raise UnreadableDocumentError(
                "The file cannot be read.", field="file", remedy="Check its permissions and the disk."
            ) from error
        if len(content) > self._max_bytes:
            raise PayloadTooLargeError(
                "The file is too large.",
                field="file",
                limit=f"{self._max_bytes} bytes",
                remedy="Split it, or raise MAX_FILE_BYTES.",
            )
        return SourceFile(content=content, media_type="", filename=entry.path.name)

    def _walk(self, root: Path) -> Iterator[Path]:
        for folder, subfolders, names in os.walk(root):
            subfolders[:] = [name for name in subfolders if not name.startswith(".")]
            for name in names:
                path = Path(folder) / name
                wanted = not name.startswith(".") and path.suffix.lower() in self._suffixes
                if wanted and path.is_file() and not path.is_symlink():
                    yield path
