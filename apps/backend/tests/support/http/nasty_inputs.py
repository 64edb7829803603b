"""Reads nasty_inputs.jsonl: inputs that were written to break a service like this one.

Generators stand for what is too long to write out:

    {"$repeat": [text, n]}     text, n times
    {"$unique_words": n}       n different words
    {"$concat": [part, ...]}   parts in a row
    {"$twice": input}          the same call twice
    {"$steps": [input, ...]}   calls in a row

``$setup``, ``$fault``, ``$file``, ``$fixture`` and ``$db`` say in words what a test must prepare.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIELD_NAMES = {"top_k": "limit", "question": "query", "source": "external_id", "content": "text", "pattern": "query"}
"""The file's names and ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NastyInput:
    """One line. ``calls`` are request bodies under our names; ``notes`` are what the test must prepare."""

    id: str
    endpoint: str
    calls: tuple[dict[str, Any], ...]
    notes: dict[str, Any]
    expect: str


def read_nasty_inputs(folder: Path) -> dict[str, NastyInput]:
    """Return the lines by id."""
    lines = (folder / "nasty_inputs.jsonl").read_text("utf-8").splitlines()
    return {line["id"]: _nasty_input(line) for line in map(json.loads, lines)}


def expand(value: Any) -> Any:
    """Return ``value`` with its generators run."""
    match value:
        case {"$repeat": [str(text), int(count)]}:
            return text * count
        case {"$unique_words": int(count)}:
            return " ".join(f"palabra{number}" for number in range(count))
        case {"$concat": [*parts]}:
            return "".join(expand(part) for part in parts)
        case dict():
            return {name: expand(inner) for name, inner in value.items()}
        case list():
            return [expand(inner) for inner in value]
    return value


def _nasty_input(line: dict[str, Any]) -> NastyInput:
    given = line["input"]
    steps = [given["$twice"]] * 2 if "$twice" in given else given.get("$steps", [given])
    calls = tuple(
        {FIELD_NAMES.get(name, name): expand(value) for name, value in step.items() if not name.startswith("$")}
        for step in steps
    )
    notes = {name: value for name, value in given.items() if name.startswith("$") and name not in ("$twice", "$steps")}
    return NastyInput(id=line["id"], endpoint=line["endpoint"], calls=calls, notes=notes, expect=line["expect"])
