"""Log lines for people and for machines."""

from __future__ import annotations

import logging
from datetime import datetime

from pythonjsonlogger.json import JsonFormatter

from ragcorp.infrastructure.logs.records import RecordReader, ShownError, escaped


class JsonLines(JsonFormatter):
    """One JSON object per line, in ASCII: everything else is escaped, so no text can break out of its line."""

    def __init__(self, reader: RecordReader) -> None:
        super().__init__()
        self._reader = reader

    def format(self, record: logging.LogRecord) -> str:
        shown = self._reader.read(record)
        line: dict[str, object] = {
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
        return self.serialize_log_record(line)


class TextLines(logging.Formatter):
    """A line for people; an exception follows on indented lines."""

    def __init__(self, reader: RecordReader) -> None:
        super().__init__()
        self._reader = reader

    def format(self, record: logging.LogRecord) -> str:
        shown = self._reader.read(record)
        parts = [f"{timestamp(shown.moment)} {shown.level} {shown.logger}: {shown.message}"]
        fields = {**shown.fields, **({"request_id": shown.request_id} if shown.request_id else {})}
        parts += [f"{name}={value}" for name, value in fields.items() if value is not None]
        lines = [escaped(" ".join(parts))]
        for number, error in enumerate(shown.errors):
            summary = f"{error.kind}: {error.message}" if error.message else error.kind
            lines.append(escaped(f"  {'because of ' if number else ''}{summary}"))
            lines += [escaped(f"    at {frame}") for frame in error.frames]
        return "\n".join(lines)


def timestamp(moment: datetime) -> str:
    """Return a moment (UTC) in RFC 3339 format, with milliseconds."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _as_json(error: ShownError) -> dict[str, object]:
    message = {} if error.message is None else {"message": error.message}
    return {"type": error.kind, "frames": list(error.frames), **message}
