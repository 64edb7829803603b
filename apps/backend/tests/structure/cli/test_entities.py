"""`ragcorp entities refresh` over documents that were stored before there were entities."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from support.processes.command_line import Done

FOUND = """
    SELECT kind || ' ' || name FROM structural_entities e JOIN documents d ON d.id = e.document_id
    WHERE d.external_id = 'contratos/marco.md' AND kind = 'section' ORDER BY position
"""


def test_documents_of_before_get_their_entities_once(filled: Callable[..., Done], dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        stored = connection.execute(FOUND).fetchall()
        assert stored == [("section Contrato marco",), ("section Partes",), ("section Entrega",)]
        connection.execute("DELETE FROM structured_documents WHERE path = 'contratos/marco.md'")
        connection.execute("UPDATE structured_documents SET fingerprint = 'older'")
        done = filled("entities", "refresh", "--json")
        assert (done.code, done.json["documents"], done.json["waiting"]) == (0, 2, 0)
        assert done.json["entities"] >= 4
        assert "2 of 2 documents" in done.err
        assert connection.execute(FOUND).fetchall() == stored
    again = filled("entities", "refresh")
    assert again.code == 0
    assert "0 entities found in 0 documents" in again.out


SYMBOLS = "SELECT id, entity_key FROM structural_entities WHERE kind = 'function' ORDER BY entity_key"


@pytest.mark.parametrize("missing", ["tree_sitter", "tree_sitter_python"])
def test_a_process_without_a_grammar_erases_no_symbols_and_the_doctor_names_it(
    ragcorp: Callable[..., Done], folder: Path, dsn: str, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    (folder / "paga.py").write_text("def paga(importe):\n    return importe\n", encoding="utf-8")
    assert ragcorp("ingest", str(folder)).code == 0
    assert code_check(ragcorp)["status"] == "ok"
    with psycopg.connect(dsn, autocommit=True) as connection:
        ((number, key),) = connection.execute(SYMBOLS).fetchall()
        assert key == "paga.py::paga"
        monkeypatch.setitem(sys.modules, missing, None)
        done = ragcorp("entities", "refresh", "--json")
        assert (done.code, done.json["documents"], done.json["waiting"]) == (0, 0, 0)
        assert connection.execute(SYMBOLS).fetchall() == [(number, key)]
        results = code_check(ragcorp)
        assert (results["status"], "No grammar of python" in results["detail"]) == ("warning", True)
        assert ("typescript" in results["detail"]) is (missing == "tree_sitter")
        assert "pip install 'ragcorp[code]'" in results["remedy"]
        # what it writes itself has no symbols, until whoever has the grammar looks
        (folder / "paga.py").write_text("def cobra(importe):\n    return importe\n", encoding="utf-8")
        assert ragcorp("ingest", str(folder)).code == 0
        assert connection.execute(SYMBOLS).fetchall() == []
        monkeypatch.undo()
        monkeypatch.setenv("DATABASE_URL", dsn)
        monkeypatch.setenv("EMBEDDING_PROVIDER", "none")
        assert ragcorp("entities", "refresh").code == 0
        assert [row[1] for row in connection.execute(SYMBOLS).fetchall()] == ["paga.py::cobra"]


def code_check(ragcorp: Callable[..., Done]) -> dict[str, str]:
    (results,) = (item for item in ragcorp("doctor", "--json").json["checks"] if item["name"] == "extra 'code'")
    return dict(results)
