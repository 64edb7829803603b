"""Use case: check that several folders and files can be stored together, each file under its own name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.folders import FolderFiles


class RequireDistinctNames:
    """A file is stored under its path below the folder that is named, and one would replace another of that path."""

    def __init__(self, *, files: FolderFiles) -> None:
        self._files = files

    async def require(self, paths: Sequence[Path], *, gitignore: bool = True) -> None:
        """Raises InvalidInputError for two files of one name, and MissingFileError."""
        if len(paths) > 1:
            await anyio.to_thread.run_sync(self._require, paths, gitignore)

    def _require(self, paths: Sequence[Path], gitignore: bool) -> None:
        names: Counter[str] = Counter()
        for path in paths:
            scan = self._files.scan(self._files.locate(path), gitignore=gitignore)
            names.update(found.entry.relative for found in scan.files)
        twice = sum(count > 1 for count in names.values())
        if twice:
            raise InvalidInputError(
                f"{twice} name{'s stand' if twice > 1 else ' stands'} for more than one file.",
                field="PATHS",
                remedy="Ingest each path by itself with its own --prefix, or the folder that holds them all.",
            )
