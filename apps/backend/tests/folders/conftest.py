"""A watch over a tree of real files, a real PostgreSQL and the system's own notifications."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from ragcorp.application.folders.documents import FolderDocuments
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from ragcorp.infrastructure.postgres.files.folder_rows import PostgresFolderRecords
from ragcorp.main.wiring.container import Container
from support.files.watched_trees import CountingFiles, Folder, FolderOf
from support.parsing.reading import preparation_of


@pytest.fixture
async def folder_of(tmp_path: Path) -> AsyncIterator[FolderOf]:
    async with AsyncExitStack() as stack:

        def make(container: Container, root: Path | None = None, **naming: Any) -> Folder:
            root = root or tmp_path / "tree"
            root.mkdir(exist_ok=True)
            parser, read = MultiFormatParser(), list[str]()
            files = CountingFiles(suffixes=parser.suffixes, max_bytes=200_000, read=read)
            records = PostgresFolderRecords(database=container.database)
            documents = FolderDocuments(
                ingest=container.use_cases.ingest,
                preparation=preparation_of(parser=parser),
                files=files,
                records=records,
                artifact_type_of=parser.artifact_type,
                **naming,
            )
            return Folder(
                root=root,
                container=container,
                documents=documents,
                files=files,
                records=records,
                watches=stack,
                read=read,
            )

        yield make


@pytest.fixture
async def folder(make_container: Callable[..., Any], folder_of: FolderOf) -> Folder:
    return folder_of(await make_container(embed_wait_seconds=0))
