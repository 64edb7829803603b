"""Log lines for people and for machines."""

from __future__ import annotations

import json
import logging
from datetime import datetime
from typing import Any

from ragcorp.infrastructure.logs.records import RecordReader, ShownError, escaped


class JsonLines(logging.Formatter):
    """One JSON object a line, in ASCII: what is no printable ASCII is escaped, so nothing can break out of its line."""

    def __init__(self, reader: RecordReader) -> None:
        super().__init__()
        self._reader = reader

    def format(self, record: logging.LogRecord) -> str:
        shown = self._reader.read(record)
        line: dict[str, Any] = {
            **shown.fields,
            "ts": timestamp(shown.moment),
            "level": shown.level,
            "logger": shown.logger,
            "message": shown.message,
        }
        if shown.request_id is not None:
            line["request_id"] = shown.request_id
        if shown.errors:
            line["errors"] = [_as_json(error) for error in shown.errors]
        return json.dumps(line, ensure_ascii=True)


class TextLines(logging.Formatter):
    """A line for people; an exception follows on indented ones."""

    def __init__(self, reader: RecordReader) -> None:
        super().__init__()
        self._reader = reader

    def format(self, record: logging.LogRecord) -> str:
        shown = self._reader.read(record)
        said = [f"{timestamp(shown.moment)} {shown.level} {shown.logger}: {shown.message}"]
        named = {**shown.fields, **({"request_id": shown.request_id} if shown.request_id else {})}
        said += [f"{name}={value}" for name, value in named.items() if value is not None]
        lines = [escaped(" ".join(said))]
        for number, error in enumerate(shown.errors):
            told = f"{error.kind}: {error.message}" if error.message else error.kind
            lines.append(escaped(f"  {'because of ' if number else ''}{told}"))
            lines += [escaped(f"    at {frame}") for frame in error.frames]
        return "\n".join(lines)


def timestamp(moment: datetime) -> str:
    """Return a moment (UTC) as RFC 3339 has it."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _as_json(error: ShownError) -> dict[str, object]:
    told: dict[str, object] = {"type": error.kind, "frames": list(error.frames)}
    return told if error.message is None else {**told, "message": error.message}
