"""Trees of files as evaluation sets: what is read, ingested and searched where it lies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from ragcorp.application.evaluation.profile import parse_profile
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.search.requests import SearchMode
from ragcorp.evaluation.sets import Passage
from ragcorp.infrastructure.evaluation_sets.reading import read_set
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.interface.cli.console.services import EvaluationOptions, Target
from ragcorp.main.commands.evaluation import open_evaluation
from ragcorp.main.settings.schema import LOCAL_MODEL

FILES = {
    "docs/gastos.md": "# Gastos\n\nEl hotel se paga hasta 95 euros.\n",
    "docs/ausencias.md": "# Ausencias\n\nCada empleado tiene 22 días de vacaciones.\n",
    "src/impuestos.py": "def calcular_total(lineas):\n    return sum(lineas)\n",
}
ARBOL = Path(__file__).parents[2] / "sets" / "arbol-es"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    set_of_files = tmp_path / "árbol"
    for name, text in FILES.items():
        path = set_of_files / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (set_of_files / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "calcular_total"}\n{"_id": "q2", "text": "¿cuánto se paga de hotel?"}\n', "utf-8"
    )
    (set_of_files / "qrels.tsv").write_text("q1\tsrc/impuestos.py\t2\nq2\tdocs/gastos.md\t1\n")
    return set_of_files


# reading


def test_each_file_is_a_passage_under_its_relative_path(folder: Path) -> None:
    result = read_set(folder)
    assert result.passages == [Passage(id=name, title="", text=FILES[name]) for name in sorted(FILES)]
    assert result.tree == str((folder / "files").resolve())
    assert result.qrels == {"q1": {"src/impuestos.py": 2}, "q2": {"docs/gastos.md": 1}}
    assert result.every(2).tree == result.tree


def test_hidden_files_links_and_blank_files_are_no_passages(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("fuera")
    tree = folder / "files"
    (tree / "link.md").symlink_to(tmp_path / "outside.md")
    (tree / ".oculto.md").write_text("oculto")
    (tree / ".git").mkdir()
    (tree / ".git" / "config").write_text("oculto")
    (tree / "blank.md").write_text(" \n")
    assert [passage.id for passage in read_set(folder).passages] == sorted(FILES)


def test_a_corpus_goes_before_a_tree(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text('{"_id": "a", "text": "uno"}\n')
    result = read_set(folder)
    assert (result.tree, [passage.id for passage in result.passages]) == (None, ["a"])


def test_a_tree_without_text_is_refused(folder: Path) -> None:
    for name in FILES:
        (folder / "files" / name).unlink()
    with pytest.raises(InvalidInputError) as refused:
        read_set(folder)
    assert refused.value.field == "files"


def test_a_file_that_is_not_utf8_is_named(folder: Path) -> None:
    (folder / "files" / "docs" / "viejo.md").write_bytes("días".encode("latin-1"))
    with pytest.raises(InvalidInputError) as refused:
        read_set(folder)
    assert refused.value.field == "files/docs/viejo.md"


# the set of the repository


def test_the_set_of_the_repository_is_whole() -> None:
    result = read_set(ARBOL)
    names = {passage.id for passage in result.passages}
    assert (len(names), len(result.queries)) == (90, 60)
    assert {kind: len(queries) for kind, queries in result.by_kind().items()} == dict.fromkeys(
        ("identifier", "mixed", "question"), 20
    )
    assert {document for grades in result.qrels.values() for document in grades} <= names


# profiles


@pytest.mark.parametrize(
    ("name", "mode", "searches_files"),
    [("files", SearchMode.HYBRID, True), ("grep", SearchMode.SPARSE, True), ("vectors", SearchMode.DENSE, False)],
)
def test_profiles_of_files_are_asked_for_by_name(name: str, mode: SearchMode, searches_files: bool) -> None:
    result = parse_profile(f"{name}:k=20")
    assert (result.profile, result.mode, result.rank_constant) == (name, mode, 20)
    assert result.searches_files is searches_files
    assert result.request("x", limit=3).profile == name


# end to end


@pytest.fixture
def owner(make_database: Callable[..., str], postgres_server: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    dsn = str(postgres_server.dsn(make_database(), role="ragcorp_owner"))
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")
    return dsn


@pytest.mark.anyio
async def test_a_tree_is_ingested_and_searched_where_it_lies(owner: str, folder: Path) -> None:
    await anyio.to_thread.run_sync(partial(migrate, owner, embedding_model=LOCAL_MODEL))
    (folder / "files" / "later.md").write_text("calcular_total no está en el índice\n")
    evaluation_set = read_set(folder)
    opening = EvaluationOptions(tree=folder / "files", chunk_tokens=None)
    async with open_evaluation(Target(), opening) as opened:
        principal = opened.session.principal
        await opened.load.load(evaluation_set, principal=principal, language="es")
        (folder / "files" / "not_ingested.md").write_text("calcular_total no está en el índice\n")
        await opened.settle.settle(principal=principal)
        documents, _ = await opened.session.use_cases.documents.list(DocumentSelection(), principal=principal)
        grep, sparse = await opened.retrieve.evaluate(
            evaluation_set, [parse_profile("grep"), parse_profile("sparse")], principal=principal
        )
    assert sorted(document.external_id for document in documents) == sorted([*FILES, "later.md"])
    # what was ingested is found as the document, what was not as the file: both under the path below the root
    assert sorted(grep.run.documents("q1")) == ["later.md", "not_ingested.md", "src/impuestos.py"]
    assert set(sparse.run.documents("q1")) == {"later.md", "src/impuestos.py"}
    assert grep.run.documents("q2")[0] == "docs/gastos.md"
    assert not grep.degraded
