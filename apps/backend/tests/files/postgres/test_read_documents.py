"""A file that is also a document is read by those only who may read the document: real files, real PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragcorp.application.files.read import ReadFile
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import FileAccessDeniedError, StorageUnavailableError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.files.documents import PostgresFileDocuments
from support.files.roots import read_file_over, roots_of, write
from support.storage.postgres import open_database, repository_over
from support.storage.stored import written

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana")
BETO = Principal(subject="beto", clearance=Sensitivity.NORMAL)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, {"docs/nómina.md": "cobra 30", "code/nómina.md": "otra", "docs/libre.md": "libre"})


async def read_file_with(database: Database, folder: Path, path: str) -> ReadFile:
    private = written(path, "cobra 30", visibility_scope=VisibilityScope.PRIVATE, owner="ana")
    stored = replace(private, attributes=replace(private.attributes, path=path))
    await (await repository_over(database)).save_many([stored], principal=ANA)
    return read_file_over(
        roots_of(folder / "code", folder / "docs"), documents=PostgresFileDocuments(database=database)
    )


@pytest.mark.parametrize("stored", ["docs/nómina.md", "nómina.md", "no\u0301mina.md"])
async def test_a_private_document_is_read_by_its_owner_only(database: Database, folder: Path, stored: str) -> None:
    read_file = await read_file_with(database, folder, stored)
    assert (await read_file.read("docs/nómina.md", principal=ANA)).text == "cobra 30"
    for asked in ("docs/nómina.md", "docs/no\u0301mina.md", "./docs//nómina.md"):
        with pytest.raises(FileAccessDeniedError) as raised:
            await read_file.read(asked, principal=BETO)
        assert str(raised.value).endswith("Allowed roots: code, docs.")
    assert (await read_file.read("docs/libre.md", principal=BETO)).text == "libre"


async def test_a_document_under_the_bare_path_withholds_the_file_of_every_root(
    database: Database, folder: Path
) -> None:
    read_file = await read_file_with(database, folder, "nómina.md")
    for asked in ("nómina.md", "code/nómina.md", "docs/nómina.md"):
        with pytest.raises(FileAccessDeniedError):
            await read_file.read(asked, principal=BETO)


async def test_a_document_of_one_root_does_not_withhold_the_file_of_another(database: Database, folder: Path) -> None:
    read_file = await read_file_with(database, folder, "docs/nómina.md")
    assert (await read_file.read("nómina.md", principal=BETO)).path == "code/nómina.md"


async def test_nothing_is_read_without_the_database(database: Database, folder: Path) -> None:
    read_file = await read_file_with(database, folder, "otro.md")
    await database.close()
    with pytest.raises(StorageUnavailableError):
        await read_file.read("docs/libre.md", principal=ANA)
