"""Log lines: what they show, what they never show, and that nothing breaks out of its line."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.logs.records import JsonLines, RecordReader, TextLines

HOSTILE = "uno\r\n2026-01-01T00:00:00.000Z error ragcorp: forged\x1b[2J\u2028dos\u202etres\x00\ud800"


def record(
    message: str,
    *args: object,
    name: str = "ragcorp.x",
    fields: Mapping[str, Any] | None = None,
    error: BaseException | None = None,
) -> logging.LogRecord:
    made = logging.LogRecord(
        name, logging.WARNING, "x.py", 7, message, args, None if error is None else (type(error), error, None), "work"
    )
    made.created = 1_767_225_600.25
    if fields is not None:
        made.fields = fields
    return made


def reader(request_id: str | None = None, *secrets: str) -> RecordReader:
    return RecordReader(request_id=lambda: request_id, secrets=secrets)


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except type(error) as found:
        return found


def test_a_json_line_has_its_fields() -> None:
    line = json.loads(
        JsonLines(reader("r-1")).format(
            record("source %s failed", "dense", fields={"source": "dense", "outcome": "timeout", "reason": "timeout"})
        )
    )
    assert line == {
        "ts": "2026-01-01T00:00:00.250Z",
        "level": "warning",
        "logger": "ragcorp.x",
        "message": "source dense failed",
        "request_id": "r-1",
        "source": "dense",
        "outcome": "timeout",
        "reason": "timeout",
    }


def test_no_field_takes_the_place_of_the_lines_own() -> None:
    line = json.loads(JsonLines(reader()).format(record("said", fields={"level": "forged", "ms": 1.5})))
    assert (line["level"], line["ms"]) == ("warning", 1.5)


def test_a_text_line_has_the_same() -> None:
    line = TextLines(reader("r-1")).format(record("said", fields={"status": 200, "key": None}))
    assert line == "2026-01-01T00:00:00.250Z warning ragcorp.x: said status=200 request_id=r-1"


@given(st.text() | st.just(HOSTILE))
def test_whatever_is_logged_stays_on_its_line(text: str) -> None:
    given = record("said %s", text, fields={"source": text})
    for line in (JsonLines(reader(None)).format(given), TextLines(reader(None)).format(given)):
        assert len(line.splitlines()) == 1
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", line)
        line.encode()


def test_an_error_of_ours_says_what_it_says_and_one_of_a_library_only_its_kind_and_place() -> None:
    library = raised(ValueError(f"canary {HOSTILE}"))
    error = raised(StorageUnavailableError("It is out.", remedy="Look."), library)
    given = record("failed", error=error)
    shown = json.loads(JsonLines(reader()).format(given))["errors"]
    assert [item["type"] for item in shown] == ["StorageUnavailableError", "ValueError"]
    assert shown[0]["message"] == "It is out. Look."
    assert "message" not in shown[1]
    assert all("test_log_formats.py" in frame for item in shown for frame in item["frames"])
    text = TextLines(reader()).format(given)
    assert "canary" not in text
    assert "forged" not in text
    assert "because of ValueError" in text
    assert all(line.startswith("  ") for line in text.splitlines()[1:])


def test_the_members_of_a_group_are_told_and_a_circle_ends() -> None:
    one = raised(KeyError("canary"))
    group = raised(ExceptionGroup("canary", [one, RuntimeError("canary")]))
    one.__cause__ = group
    shown = json.loads(JsonLines(reader()).format(record("failed", error=group)))["errors"]
    assert [item["type"] for item in shown] == ["ExceptionGroup", "KeyError", "RuntimeError"]
    assert "canary" not in json.dumps(shown)


@pytest.mark.parametrize(
    ("name", "message", "args", "expected"),
    [
        ("uvicorn.error", "Started server process [%d]", (7,), "Started server process [7]"),
        ("psycopg.pool", "error connecting: %s", (ValueError("canary"),), "error connecting: <ValueError>"),
        ("httpx", 'HTTP Request: %s "%d"', ("canary", 200), 'HTTP Request: <str> "200"'),
        ("asyncio", "Task exception was never retrieved\nfuture: canary", (), "Task exception was never retrieved"),
        ("uvicorn.error", "%s %s", ("canary",), "%s %s"),
    ],
)
def test_arguments_of_libraries_are_not_shown(name: str, message: str, args: tuple[Any, ...], expected: str) -> None:
    assert json.loads(JsonLines(reader()).format(record(message, *args, name=name)))["message"] == expected


def test_what_any_other_library_says_is_withheld() -> None:
    line = JsonLines(reader()).format(record("failed for canary", name="mcp.server"))
    assert "canary" not in line
    assert "work, line 7" in line


def test_secrets_are_masked_wherever_they_stand() -> None:
    hidden = reader(None, "canary", "canary-longer")
    given = record("said canary-longer", fields={"reason": "xcanaryx"}, error=StorageUnavailableError("no canary"))
    for line in (JsonLines(hidden).format(given), TextLines(hidden).format(given)):
        assert "canary" not in line
        assert "longer" not in line
