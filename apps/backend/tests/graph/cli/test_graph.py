"""`ragcorp graph` over a database: load, list, add, delete, and extraction without a model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from support.processes.command_line import Done

Command = Callable[..., Done]

LINES: list[object] = [
    {"type": "fact", "subject": {"external_id": "ana"}, "object": "Zafiro", "predicate": "trabaja en"},
    {
        "type": "entity",
        "name": "Ana",
        "external_id": "ana",
        "kind": "person",
        "aliases": ["Anita"],
        "description": "Compras.",
    },
    {"type": "fact", "subject": "Ana", "object": "Bea", "predicate": "conoce", "valid_from": "2024-01-01"},
]


def written(path: Path, *lines: object) -> str:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return str(path)


def test_a_file_is_loaded_once(ragcorp: Command, tmp_path: Path) -> None:
    file = written(tmp_path / "graph.jsonl", *LINES)
    done = ragcorp("graph", "load", file, "--json")
    assert (done.code, done.json) == (0, {"created": 3, "updated": 0, "unchanged": 0, "failed": 0, "failures": []})
    assert "3 of 3 lines" in done.err
    again = ragcorp("graph", "load", file, "--json").json
    assert (again["created"], again["unchanged"]) == (0, 3)
    entities = ragcorp("graph", "entities", "--name", "ANITA", "--json").json["entities"]
    assert [one["external_id"] for one in entities] == ["ana"]
    facts = ragcorp("graph", "facts", "--entity", "ana", "--json").json["facts"]
    assert {one["text"] for one in facts} == {"Ana -> Zafiro: trabaja en", "Ana -> Bea: conoce"}


def test_a_bad_line_is_named_with_field_and_remedy_and_stops_no_other(ragcorp: Command, tmp_path: Path) -> None:
    later = [{"type": "entity", "name": f"Cosa {n}", "external_id": f"cosa/{n}"} for n in range(600)]
    file = written(
        tmp_path / "graph.jsonl",
        {"type": "fact", "subject": {"external_id": "cosa/599"}, "object": "X", "predicate": "antes que ella"},
        "{",
        {"type": "fact", "subject": {"external_id": "nobody"}, "object": "X", "predicate": "x"},
        {"type": "fact", "subject": "A", "object": "B", "predicate": "x", "valid_from": "ayer"},
        *later,
    )
    done = ragcorp("graph", "load", file, "--json")
    assert (done.code, done.json["created"], done.json["failed"]) == (1, 601, 3)
    failures = done.json["failures"]
    assert [(one["line"], one["error"]["field"]) for one in failures] == [
        (2, "line"),
        (3, "subject.external_id"),
        (4, "valid_from"),
    ]
    assert all(one["error"]["remedy"] for one in failures)
    assert "line 4: valid_from: " in done.err


def test_one_is_added_shown_and_deleted(ragcorp: Command) -> None:
    added = ragcorp("graph", "add-entity", "María Pérez", "--kind", "person", "--alias", "Maru", "--json")
    assert re.fullmatch("person:maria perez~[0-9a-f]{16}", added.json["external_id"])
    assert added.json["status"] == "created"
    fact = ragcorp(
        "graph", "add-fact", "maru", "vive en", "Goa", "--from", "2026-03-01", "--external-id", "f", "--json"
    )
    assert fact.json == {"external_id": "f", "status": "created"}
    shown = ragcorp("graph", "facts")
    assert "María Pérez -> Goa: vive en" in shown.out
    assert "2026-03-01" in shown.out
    assert ragcorp("graph", "delete-fact", "f").code == 2
    assert ragcorp("graph", "delete-fact", "f", "--yes").code == 0
    gone = ragcorp("graph", "delete-fact", "f", "--yes", "--json")
    assert (gone.code, gone.json["error"]["code"]) == (1, "not_found")
    assert ragcorp("graph", "delete-entity", added.json["external_id"], "--yes").code == 0
    assert ragcorp("graph", "entities", "--json").json == {"entities": [], "next_cursor": None}
    bad = ragcorp("graph", "add-fact", "a", "b", "c", "--to", "mañana", "--json")
    assert (bad.code, bad.json["error"]["field"]) == (2, "--to")


def test_without_a_language_model_extraction_says_so(filled: Command) -> None:
    done = filled("graph", "extract", "--json")
    assert done.code == 2
    assert done.json["error"]["message"] == "no language model is configured."
    assert "ANSWER_PROVIDER" in done.json["error"]["remedy"]
