"""`ragcorp memory`, `history`, `artifacts`, `artifact_chunks` and `collections`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.processes.command_line import Done

Command = Callable[..., Done]


CONTRACT = "# Contrato\n\n" + "Cláusula primera. " * 20 + "\n"


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), "utf-8"))


@pytest.fixture
def export(tmp_path: Path) -> Path:
    lines: list[Any] = [
        {"session": "goa", "role": "Rajesh", "ts": 1772476800, "content": "¿Volamos el 14?"},
        {"session": "goa", "role": "Priya", "ts": 1772476860, "content": "Sí."},
        {"role": "Priya", "content": "¿Cuándo?"},
        {"role": "Priya", "ts": 1772476920, "content": "Hasta luego."},
    ]
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join([*map(json.dumps, lines), "{", ""]), encoding="utf-8")
    return file


def test_a_memory_from_adding_to_deleting(ragcorp: Command) -> None:
    added = ragcorp(
        "memory", "add", "Priya prefiere la ventanilla.", "--kind", "preference", "--entity", "Priya",
        "--entity", "Goa", "--external-id", "priya/asiento", "--metadata", "since=2026", "--json",
    )  # fmt: skip
    assert (added.code, added.json) == (
        0,
        {"collection": "memory", "external_id": "priya/asiento", "status": "created"},
    )
    item = ragcorp("memory", "get", "priya/asiento", "--json").json
    assert (item["text"], item["artifact_type"], item["entities"], item["metadata"], item["language"]) == (
        "Priya prefiere la ventanilla.", "preference", ["Priya", "Goa"], {"since": 2026}, "es",
    )  # fmt: skip
    assert "Priya prefiere" in ragcorp("memory", "get", "priya/asiento").out
    changed = ragcorp(
        "memory", "update", "priya/asiento", "--text", "Priya prefiere el pasillo.", "--speaker", "Rajesh"
    )
    assert (changed.code, changed.out) == (0, "priya/asiento updated\n")
    assert "priya/asiento unchanged" in ragcorp("memory", "update", "priya/asiento", "--speaker", "Rajesh").out
    listed = ragcorp("memory", "list", "--prefix", "priya/", "--filter", "speaker=Rajesh")
    assert "pasillo" in listed.out
    page = ragcorp("memory", "list", "--filter", 'since={"$gte":2027}', "--json").json
    assert page == {"items": [], "next_cursor": None}
    assert ragcorp("memory", "delete", "priya/asiento").code == 2
    assert ragcorp("memory", "delete", "priya/asiento", "--yes", "--json").json == {"deleted": 1}
    gone = ragcorp("memory", "get", "priya/asiento", "--json")
    assert (gone.code, gone.json["error"]["code"]) == (1, "not_found")


def test_an_explained_search_says_what_each_step_did_to_a_hit(ragcorp: Command) -> None:
    ragcorp("memory", "add", "Priya prefiere la ventanilla.", "--kind", "preference", "--occurred-at", "2026-01-01")
    shown = ragcorp("search", "ventanilla", "--profile", "memory", "--explain").out
    told = ragcorp("search", "ventanilla", "--profile", "memory", "--explain", "--json").json["results"][0]["steps"]
    (decay,) = [line for line in shown.splitlines() if line.startswith("     temporal_decay: ")]
    assert f"factor {told['temporal_decay']['factor']:.6g}, floor " in decay
    (chosen,) = [line for line in shown.splitlines() if line.startswith("     diversification: ")]
    assert chosen.startswith("     diversification: relevance 1, similarity 0, mmr 0.7")
    assert "temporal_decay: age" not in ragcorp("search", "ventanilla", "--profile", "memory").out


def test_what_is_wrong_is_named(ragcorp: Command) -> None:
    for arguments, field in (
        (("memory", "add", " "), "text"),
        (("artifacts", "add", ""), "text"),
        (("context", "x", "--session", "\x00"), "session"),
        (("memory", "add", "x", "--kind", "contract"), "artifact_type"),
        (("memory", "add", "x", "--scope", "all"), "--scope"),
        (("memory", "add", "x", "--sensitivity", "top"), "sensitivity"),
        (("history", "add", "x", "--timestamp", "ayer"), "--occurred-at"),
        (("memory", "update", "x"), "--text"),
        (("memory", "delete", "--yes"), "EXTERNAL_ID"),
        (("memory", "delete", "x", "--prefix", "y", "--yes"), "EXTERNAL_ID"),
        (("memory", "list", "--limit", "0"), "limit"),
        (("artifacts", "update", "x"), "--text"),
    ):
        done = ragcorp(*arguments, "--json")
        assert (done.code, done.json["error"]["field"]) == (2, field), arguments
    assert ragcorp("memory", "update", "nada", "--text", "x").code == 1
    assert ragcorp("graph_of_nothing", "list").code == 2


def test_a_text_from_stdin(ragcorp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, "Línea uno.\nLínea dos.\n".encode())
    assert ragcorp("memory", "add", "-", "--external-id", "m").code == 0
    assert ragcorp("memory", "get", "m", "--json").json["text"] == "Línea uno.\nLínea dos.\n"
    stdin(monkeypatch, b"\xff")
    assert ragcorp("memory", "update", "m", "--text", "-").code == 2


def test_an_export_is_imported_with_its_bad_lines_named(ragcorp: Command, export: Path) -> None:
    first = ragcorp("history", "import", str(export), "--session", "suelta", "--json")
    assert first.code == 1
    assert {name: first.json[name] for name in ("lines", "created", "updated", "unchanged", "failed", "pending")} == {
        "lines": 5, "created": 3, "updated": 0, "unchanged": 0, "failed": 2, "pending": 3,
    }  # fmt: skip
    failures = [(failure["line"], failure["error"]["field"]) for failure in first.json["failures"]]
    assert failures == [(3, "timestamp"), (5, "line")]
    again = ragcorp("history", "import", str(export), "--session", "suelta")
    assert again.code == 1
    assert "line 3: timestamp: A turn needs the time" in again.err
    assert "line 5: line: The line is not a JSON object." in again.err
    assert again.out.splitlines()[-2].split() == ["│", "5", "│", "0", "│", "0", "│", "3", "│", "2", "│"]
    turns = ragcorp("history", "list", "--filter", "session=suelta", "--json").json["items"]
    assert [(turn["speaker"], turn["text"], turn["artifact_type"]) for turn in turns] == [
        ("Priya", "Hasta luego.", "turn")
    ]
    assert ragcorp("history", "delete", "--filter", "session=goa", "--yes", "--json").json == {"deleted": 2}


def test_an_import_of_what_is_no_file(ragcorp: Command, tmp_path: Path) -> None:
    missing = ragcorp("history", "import", str(tmp_path / "nada.jsonl"), "--json")
    assert (missing.code, missing.json["error"]["field"]) == (2, "FILE")
    folder = ragcorp("history", "import", str(tmp_path), "--json")
    assert (folder.code, folder.json["error"]["field"]) == (2, "FILE")
    empty = tmp_path / "leer.jsonl"
    empty.write_bytes(b"")
    assert ragcorp("history", "import", str(empty), "--json").json["lines"] == 0
    endless = tmp_path / "larga.jsonl"
    endless.write_bytes(b'{"ts":1,"text":"' + b"x" * 3_000_000 + b'"}\n{"ts":1,"text":"fin"}')
    done = ragcorp("history", "import", str(endless), "--json").json
    assert (done["created"], [failure["line"] for failure in done["failures"]]) == (1, [1])
    assert "Limit: 1048576 bytes." in ragcorp("history", "import", str(endless)).err


def test_an_import_from_stdin(ragcorp: Command, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, export.read_bytes())
    assert ragcorp("history", "import", "-", "--json").json["created"] == 3


def test_documents_under_the_grammar_of_collections(ragcorp: Command) -> None:
    made = ragcorp("artifacts", "add", CONTRACT, "--external-id", "c.md", "--kind", "contract", "--json").json
    assert (made["external_id"], made["status"], made["chunks"]) == ("c.md", "created", 1)
    assert ragcorp("artifacts", "update", "c.md", "--title", "Marco", "--json").json["status"] == "updated"
    about = ragcorp("artifacts", "get", "c.md", "--json").json
    assert (about["title"], about["artifact_type"]) == ("Marco", "contract")
    assert ragcorp("artifacts", "list", "--json").json["items"][0]["external_id"] == "c.md"
    added = ragcorp("artifact_chunks", "add", "c.md", "## Anexo\n\n" + "Texto del anexo. " * 80, "--json").json
    assert added["artifact"]["status"] == "updated"
    listed = ragcorp("artifact_chunks", "list", "--artifact", "c.md", "--json").json["items"]
    assert [chunk["id"] for chunk in listed if "anexo" in chunk["text"]] == [chunk["id"] for chunk in added["passages"]]
    first = listed[0]
    assert ragcorp("artifact_chunks", "get", first["id"], "--json").json == first
    assert "Contrato" in ragcorp("artifact_chunks", "list").out
    edited = ragcorp("artifact_chunks", "update", first["id"], CONTRACT.replace("primera", "segunda").strip())
    assert (edited.code, edited.out.splitlines()[0].startswith("c.md updated")) == (0, True)
    assert ragcorp("documents", "content", "c.md").out.startswith(
        CONTRACT.replace("primera", "segunda").strip() + "\n\n## Anexo"
    )
    gone = ragcorp("artifact_chunks", "update", first["id"], "x", "--json")
    assert (gone.code, gone.json["error"]["field"]) == (1, "chunk_id")
    (now, *_) = ragcorp("artifact_chunks", "list", "--json").json["items"]
    assert ragcorp("artifact_chunks", "delete", now["id"]).code == 2
    assert ragcorp("artifact_chunks", "delete", now["id"], "--yes", "--json").json["passages"] == []
    assert ragcorp("documents", "content", "c.md").out.startswith("## Anexo")
    assert ragcorp("artifacts", "delete", "c.md", "--yes").code == 0


def test_what_there_is_is_counted(ragcorp: Command, export: Path) -> None:
    ragcorp("history", "import", str(export))
    ragcorp("memory", "add", "Goa está en la India.")
    facets = ragcorp("collections", "--json").json["facets"]
    assert facets["collection"] == {"history": 3, "memory": 1}
    assert list(facets) == ["collection", "artifact_type", "language", "month"]
    assert "history" in ragcorp("collections", "--filter", "artifact_type=turn").out


def test_control_characters_do_not_reach_the_terminal(ragcorp: Command) -> None:
    ragcorp("memory", "add", "rojo", "--external-id", "m", "--metadata", "k=\x1b[31m")
    assert "\x1b" not in ragcorp("memory", "get", "m").out
