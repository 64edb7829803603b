"""Passages of real files as candidates: described, compared and read by path and lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ragcorp.application.files.candidates import FileCandidates
from ragcorp.application.retrieval.steps.visibility_policy import readable
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.files.values import FileAccess, passage_id
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.candidates import Features
from support.files.roots import ReadingRepository, WithheldDocuments, reader_of, roots_of, write
from support.storage.stored import ANYONE, where

pytestmark = pytest.mark.anyio

NORMAL = Principal(clearance=Sensitivity.NORMAL)


def key(path: str, start: int = 1, end: int = 2) -> HitKey:
    return (passage_id(path, start, end), "files", 0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {"guía.md": "# Guía\nLa Gestión\nde gestion\nfin\n", "sub/b.py": "x = 1\n", "secreto.md": "nómina"}
    return write(tmp_path / "docs", files)


def store_over(root: Path, **options: Any) -> FileCandidates:
    documents = options.pop("documents", WithheldDocuments())
    return FileCandidates(
        files=ReadingRepository(roots_of(root), reader_of(roots_of(root))),  # type: ignore[arg-type]
        documents=documents,
        **({"access": FileAccess()} | options),
    )


async def test_a_passage_is_described_as_every_file_is(root: Path) -> None:
    store = store_over(root, access=FileAccess(sensitivity=Sensitivity.CONFIDENTIAL), default_language="en")
    described = await store.describe([key("docs/guía.md"), key("docs/sub/b.py", 1, 1)], principal=ANYONE)
    assert list(described) == [key("docs/guía.md"), key("docs/sub/b.py", 1, 1)]
    description = described[key("docs/guía.md")]
    assert (description.collection, description.kind, description.artifact) == ("files", "file", None)
    assert (description.workspace, description.sensitivity) == ("default", Sensitivity.CONFIDENTIAL)
    assert (description.visibility_scope, description.language) == (VisibilityScope.WORKSPACE, "en")
    assert readable(ANYONE, description)


async def test_a_passage_is_read_with_its_path_and_lines(root: Path) -> None:
    asked = [key("docs/guía.md", 2, 3), key("docs/guía.md", 3, 99), key("docs/sub/b.py", 1, 1)]
    read = await store_over(root, default_language="en").read(asked, principal=ANYONE)
    assert [passage.key for passage in read.values()] == asked
    assert [(item.content, item.line_start, item.line_end) for item in read.values()] == [
        ("La Gestión\nde gestion", 2, 3),
        ("de gestion\nfin", 3, 4),
        ("x = 1", 1, 1),
    ]
    passage = read[asked[2]]
    assert (passage.title, passage.path, passage.external_id) == ("b.py", "docs/sub/b.py", "docs/sub/b.py")
    assert (passage.collection, passage.artifact_type, passage.language) == ("files", "file", "en")
    assert (passage.sensitivity, passage.chunk_index, passage.of_document) == (Sensitivity.NORMAL, 0, False)
    again = await store_over(root).read(asked, principal=ANYONE)
    ids = {item.document_id for item in (*read.values(), *again.values())}
    assert len(ids) == 3
    assert all(isinstance(item, UUID) for item in ids)


async def test_what_is_gone_or_is_no_passage_is_left_out(root: Path) -> None:
    (root / "link.md").symlink_to(root / "guía.md")
    keys = [
        key("docs/sub/b.py", 1, 1),
        key("docs/b.md"),
        key("docs/../secret"),
        key("docs/link.md"),
        key("docs/sub"),
        key("elsewhere/guía.md"),
        key("docs/\x00"),
        key("docs/" + "x" * 2000),
        ("docs/guía.md", "files", 0),
        (passage_id("docs/guía.md", 1, 2), "memory", 0),
        ("7", "", 0),
    ]
    store = store_over(root)
    assert list(await store.describe(keys, principal=ANYONE)) == keys[:1]
    assert list(await store.read([*keys, key("docs/guía.md", 40, 50)], principal=ANYONE)) == keys[:1]


async def test_filters_are_met_by_what_files_are(root: Path) -> None:
    store = store_over(root)
    for filters, passes in (
        ({"language": "es"}, True),
        ({"language": "en"}, False),
        ({"collection": ["files", "memory"]}, True),
        ({"collection": "artifact_chunks"}, False),
        ({"external_id": "docs/guía.md"}, True),
        ({"area": {"$nin": ["legal"]}}, True),
        ({"occurred_at": {"$exists": True}}, False),
        ({"session": {"$exists": False}}, False),
    ):
        described = await store.describe([key("docs/guía.md")], principal=ANYONE, filters=where(**filters))
        assert bool(described) is passes, filters


@pytest.mark.parametrize("principal", [Principal(workspace="other"), NORMAL])
async def test_who_may_not_read_the_roots_has_no_candidates(root: Path, principal: Principal) -> None:
    documents = WithheldDocuments()
    store = store_over(root, access=FileAccess(sensitivity=Sensitivity.CONFIDENTIAL), documents=documents)
    keys = [key("docs/guía.md")]
    assert await store.describe(keys, principal=principal) == {}
    assert await store.read(keys, principal=principal) == {}
    assert await store.features(keys, principal=principal) == Features()
    assert documents.asked == []


async def test_a_file_whose_document_may_not_be_read_is_withheld_wherever_its_key_comes_from(root: Path) -> None:
    store = store_over(root, documents=WithheldDocuments(withheld=frozenset({"secreto.md"})))
    keys = [key("docs/secreto.md", 1, 1), key("docs/sub/b.py", 1, 1)]
    assert list(await store.describe(keys, principal=ANYONE)) == keys[1:]
    assert list(await store.read(keys, principal=ANYONE)) == keys[1:]
    assert list((await store.features(keys, principal=ANYONE)).lexemes) == keys[1:]


async def test_without_the_documents_nothing_is_read(root: Path) -> None:
    class Out:
        async def look_up(self, *_: object, **__: object) -> list[object]:
            raise StorageUnavailableError("out")

    with pytest.raises(StorageUnavailableError):
        await store_over(root, documents=Out()).read([key("docs/guía.md")], principal=ANYONE)


async def test_features_are_the_words_without_case_and_accents(root: Path) -> None:
    keys = [key("docs/guía.md", 1, 2), key("docs/guía.md", 3, 3)]
    features = await store_over(root).features(keys, principal=ANYONE)
    assert features == Features(lexemes={keys[0]: {"guia", "la", "gestion"}, keys[1]: {"de", "gestion"}})


async def test_files_have_no_neighbours_and_nothing_asked_is_nothing(root: Path) -> None:
    store = store_over(root)
    assert await store.neighbours([(UUID(int=1), 0)], distance=1, principal=ANYONE) == {}
    assert await store.describe([], principal=ANYONE) == {}
    assert await store.read([], principal=ANYONE) == {}
