"""The file of a document that the caller may not read is withheld, whatever the document is called, and only that."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import FileAccessDeniedError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from support.files.roots import write

pytestmark = pytest.mark.anyio

OWNER = Principal()
EVA = Principal(subject="eva", clearance=Sensitivity.NORMAL)
RESTRICTED = DocumentAttributes(sensitivity=Sensitivity.RESTRICTED)
FILE = "docs/legal/acta año 1.md"
TEXT = "El precio es confidencial: tejón 4711.\n"
EVERYWHERE = {"grep", "read_file", "search"}

Ingest = Callable[..., Awaitable[Any]]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    return write(tmp_path / "srv", {FILE: TEXT, "docs/libre.md": "libre", "code/legal/acta año 1.md": "lince\n"})


@pytest.fixture
async def rag(make_container: Callable[..., Any], machine: Path) -> Rag:
    return make_rag(await make_container(allowed_paths=f"{machine / 'docs'}:{machine / 'code'}"))


@pytest.fixture
async def ingest(make_container: Callable[..., Any]) -> Ingest:
    """Ingest a folder as restricted, as a shell without ALLOWED_PATHS does."""

    async def run(path: Path, *, prefix: str = "", principal: Principal = OWNER, **settings: Any) -> None:
        container = await make_container(**settings)
        report = await container.use_cases.ingest_folder.ingest(
            path, principal=principal, prefix=prefix, attributes=RESTRICTED
        )
        assert report.failures == ()

    return run


async def shown(rag: Rag, principal: Principal, path: str = FILE, word: str = "tejón") -> set[str]:
    """Return what shows the file, or its document, to the caller."""
    caller = rag.as_principal(principal)
    result = {"grep"} if (await caller.grep(word)).files else set()
    if (await caller.search(word, profile="files")).hits:
        result.add("search")
    try:
        await caller.read_file(path)
    except FileAccessDeniedError:
        return result
    return {*result, "read_file"}


async def test_what_is_no_document_is_shown(rag: Rag) -> None:
    assert await shown(rag, EVA) == await shown(rag, OWNER) == EVERYWHERE


@pytest.mark.parametrize("folder", ["docs", "docs/legal", "..", FILE, "link"])
@pytest.mark.parametrize("prefix", ["", "rrhh-"])
@pytest.mark.parametrize("with_roots", [False, True])
async def test_it_was_ingested_from_a_folder(
    rag: Rag, ingest: Ingest, machine: Path, folder: str, prefix: str, with_roots: bool
) -> None:
    (machine / "link").symlink_to(machine / "docs" / "legal")
    if folder == "..":
        (machine / "code/legal/acta año 1.md").unlink()
    settings = {"allowed_paths": str(machine / "docs")} if with_roots else {}
    await ingest(Path(os.path.normpath(machine / folder)), prefix=prefix, **settings)
    assert await shown(rag, EVA) == set()
    assert await shown(rag, OWNER) == EVERYWHERE


async def test_it_is_one_result_with_its_document_wherever_it_was_ingested(
    rag: Rag, ingest: Ingest, machine: Path
) -> None:
    await ingest(machine / "docs" / "legal", prefix="rrhh-")
    (hit,) = (await rag.search("tejón", profile="grep")).hits
    assert (hit.chunk.external_id, hit.chunk.collection) == ("rrhh-acta año 1.md", "artifact_chunks")
    assert (await rag.search("tejón", profile="grep", filters={"sensitivity": "normal"})).hits == ()


async def test_another_folders_file_of_that_path_is_not_taken_for_it(rag: Rag, ingest: Ingest, machine: Path) -> None:
    write(machine, {"otro/legal/acta año 1.md": TEXT})
    await ingest(machine / "otro", prefix="otro-")
    assert await shown(rag, EVA) == EVERYWHERE


async def test_files_of_another_root_stay_readable(rag: Rag, ingest: Ingest, machine: Path) -> None:
    await ingest(machine / "docs", allowed_paths=str(machine / "docs"))
    other = "code/legal/acta año 1.md"
    assert await shown(rag, EVA, other, "lince") == EVERYWHERE


async def test_what_another_workspace_ingested_does_not_count(rag: Rag, ingest: Ingest, machine: Path) -> None:
    await ingest(machine / "docs", principal=Principal(workspace="otra"))
    assert await shown(rag, EVA) == EVERYWHERE


PATHS = [
    "{file}",
    "./{file}",
    ".//./{file}",
    "docs//legal/./acta año {number}.md",
    "/{file}",
    "legal/acta año {number}.md",
    "./legal/acta año {number}.md",
    "{host}",
    "/{host}",
    "file://{host}",
    "FILE:{host}",
    "file://localhost{host}",
    "file://{quoted}",
    "file://{file}",
    "docs\\legal\\acta año {number}.md",
]


async def withheld(rag: Rag, machine: Path, store: Callable[[str, str], Awaitable[object]]) -> set[str]:
    """Return the forms of PATHS in which a document withholds its file from EVA, each of a file of its own.

    ``store`` gets the external_id to use and the path in that form.
    """
    names = [FILE.replace("1", str(number)) for number in range(len(PATHS))]
    write(machine, dict.fromkeys(names, TEXT))
    for number, (form, name) in enumerate(zip(PATHS, names, strict=True)):
        host = machine / name
        quoted = host.as_uri().removeprefix("file://")
        await store(str(number), form.format(file=name, number=number, host=host, quoted=quoted))
    seen = {passage.path for passage in (await rag.as_principal(EVA).grep("tejón")).passages}
    read = {name for name in names if "read_file" in await shown(rag, EVA, name)}
    assert seen == read
    assert {passage.path for passage in (await rag.grep("tejón")).passages} == set(names)
    return {form for form, name in zip(PATHS, names, strict=True) if name not in seen}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
async def test_its_path_is_written_in_another_way(rag: Rag, machine: Path, form: Any) -> None:
    async def store(external_id: str, path: str) -> None:
        attributes = replace(RESTRICTED, path=unicodedata.normalize(form, path))
        await rag.ingest_text(external_id, TEXT, attributes=attributes)

    assert await withheld(rag, machine, store) == set(PATHS)


async def test_its_path_is_told_by_the_metadata(rag: Rag, machine: Path) -> None:
    async def store(external_id: str, path: str) -> None:
        await rag.ingest_text(external_id, TEXT, metadata={"file_path": path}, attributes=RESTRICTED)

    assert await withheld(rag, machine, store) == set(PATHS)


@pytest.mark.parametrize("cited", ["Contrato 12", "https://intranet/actas/12"])
async def test_its_external_id_is_its_path(rag: Rag, machine: Path, owner_dsn: str, cited: str) -> None:
    async def store(external_id: str, path: str) -> None:
        del external_id
        await rag.ingest_text(path, TEXT, attributes=replace(RESTRICTED, path=cited))

    assert await withheld(rag, machine, store) == set(PATHS)
    with psycopg.connect(owner_dsn) as connection:
        connection.execute("UPDATE documents SET path = NULL")
    assert (await rag.as_principal(EVA).grep("tejón")).files == 0


async def test_an_external_id_is_not_the_path_where_the_path_says_more(rag: Rag) -> None:
    attributes = DocumentAttributes(sensitivity=Sensitivity.RESTRICTED, path="code/legal/acta año 1.md")
    await rag.ingest_text("legal/acta año 1.md", TEXT, attributes=attributes)
    assert "read_file" in await shown(rag, EVA)


@pytest.mark.parametrize("written", [FILE, f"./{FILE}", f"docs//{FILE.removeprefix('docs/')}"])
async def test_a_file_is_one_result_with_its_document_however_its_path_is_written(rag: Rag, written: str) -> None:
    await rag.ingest_text("acta", TEXT, attributes=DocumentAttributes(path=written))
    (hit,) = (await rag.search("tejón", profile="grep")).hits
    assert hit.chunk.external_id == "acta"


@pytest.mark.parametrize("attributes", [RESTRICTED, DocumentAttributes(visibility_scope=VisibilityScope.PRIVATE)])
async def test_a_deleted_document_withholds_until_it_is_purged(rag: Rag, attributes: DocumentAttributes) -> None:
    await rag.ingest_text(FILE, TEXT, attributes=attributes)
    await rag.delete(FILE)
    assert await shown(rag, EVA) == set()
    assert await shown(rag, OWNER) == EVERYWHERE
    (hit,) = (await rag.search("tejón", profile="grep")).hits
    assert hit.chunk.collection == "files"
    assert (await rag.search("tejón", profile="grep", filters={"language": "es"})).hits, "its own filters are no more"
    await rag.restore(FILE)
    assert await shown(rag, EVA) == set()
    await rag.delete(FILE)
    await rag.purge(older_than_days=0)
    assert await shown(rag, EVA) == EVERYWHERE


async def test_a_deleted_document_of_a_folder_withholds(rag: Rag, ingest: Ingest, machine: Path) -> None:
    await ingest(machine / "docs" / "legal", prefix="rrhh-")
    await rag.delete("rrhh-acta año 1.md")
    assert await shown(rag, EVA) == set()
    assert await shown(rag, OWNER) == EVERYWHERE
