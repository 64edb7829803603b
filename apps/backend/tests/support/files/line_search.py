"""The base of what a search of lines must do, whichever engine runs it."""

from __future__ import annotations

from pathlib import Path

from ragcorp.domain.files.values import FileMatches, LineSearch
from ragcorp.infrastructure.files.python_search import PythonSearch
from ragcorp.infrastructure.files.ripgrep import Ripgrep
from ragcorp.infrastructure.files.safe_open import Roots
from support.files.grep import LONG
from support.files.roots import roots_of


class LineSearchConformance:
    """A subclass gives ``engine``. ``opens_all``: it opens files whether or not they hold a match."""

    opens_all = True

    def engine(self, roots: Roots) -> Ripgrep | PythonSearch:
        raise NotImplementedError

    async def search(
        self, *folders: Path, terms: tuple[str, ...], excluded: tuple[Path, ...] = (), **options: object
    ) -> FileMatches:
        engine = self.engine(roots_of(*folders, excluded=excluded))
        return await engine.search(LineSearch(terms=terms, **options), seconds=LONG)  # type: ignore[arg-type]
