"""The base of tests that search lines with ripgrep."""

from __future__ import annotations

from pathlib import Path

from ragcorp.domain.files.values import FileMatches, LineSearch
from support.files.grep import LONG, ripgrep_over
from support.files.roots import roots_of


class LineSearchTests:
    async def search(
        self, *folders: Path, terms: tuple[str, ...], excluded: tuple[Path, ...] = (), **options: object
    ) -> FileMatches:
        engine = ripgrep_over(roots_of(*folders, excluded=excluded))
        return await engine.search(LineSearch(terms=terms, **options), seconds=LONG)  # type: ignore[arg-type]
