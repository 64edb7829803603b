"""The source over files as a RetrievalSource: roots of each workspace, real ripgrep, real documents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from ragcorp.application.files.grep import GrepFiles
from ragcorp.domain.files.values import FileAccess, GrepRequest, GrepResult
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.sources import RetrievalSource
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.testing.sources import RetrievalSourceConformance, SourceLoader
from support.files.roots import roots_of, write
from support.files.sources import grep_over, source_of
from support.storage.postgres import open_database

pytestmark = pytest.mark.anyio


class FilesByWorkspace:
    """The roots of each workspace, each with its own access: one process serves the files of one."""

    def __init__(self, by_workspace: Mapping[str, GrepFiles], otherwise: GrepFiles) -> None:
        self._by_workspace = by_workspace
        self._otherwise = otherwise

    async def grep(self, request: GrepRequest, *, principal: Principal, filters: Filters = ()) -> GrepResult:
        grep = self._by_workspace.get(principal.workspace, self._otherwise)
        return await grep.grep(request, principal=principal, filters=filters)


class FileLoader(SourceLoader):
    def __init__(self, folder: Path, database: Database) -> None:
        self._folder = folder
        self._database = database

    async def load(self, texts: Mapping[str, Sequence[str]]) -> RetrievalSource:
        greps = {}
        for workspace, contents in texts.items():
            named = {f"{number:03}.txt": content for number, content in enumerate(contents)}
            root = write(self._folder / workspace, named)
            greps[workspace] = grep_over(roots_of(root), self._database, access=FileAccess(workspace=workspace))
        none = grep_over(roots_of(), self._database)
        return source_of(FilesByWorkspace(greps, none), self._database)

    async def break_down(self) -> None:
        await self._database.close()


class TestFiles(RetrievalSourceConformance):
    @pytest.fixture
    async def loader(self, dsn: str, tmp_path: Path) -> AsyncIterator[SourceLoader]:
        async with open_database(dsn) as database:
            yield FileLoader(tmp_path, database)
