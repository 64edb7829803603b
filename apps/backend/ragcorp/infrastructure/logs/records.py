"""The safe part of a log record: no user text, no message of a library's exception, no forged lines."""

import logging
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from traceback import walk_tb
from types import MappingProxyType

from pythonjsonlogger.json import JsonFormatter

from ragcorp.domain.exceptions import RagcorpError

SafeValue = str | int | float | bool | None

FIELDS = "fields"
"""The attribute of a record (``extra={"fields": ...}``) with the counts and names that go with the message."""

OURS = "ragcorp"
TEMPLATED = ("alembic", "asyncio", "httpcore", "httpcore2", "httpx", "httpx2", "openai", "psycopg", "uvicorn")
"""Libraries whose messages are constants with arguments. Messages of other libraries may contain values."""

UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode that end a line, move the cursor, turn the direction of writing or cannot be encoded."""

MAX_CAUSES = 8
MAX_FRAMES = 40
MAX_CHARACTERS = 4000
MASK = "***"


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeError:
    """An exception without library text: ``message`` is set only for errors of ragcorp, which are safe."""

    kind: str
    message: str | None
    frames: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeRecord:
    """A record as it may be written. ``errors`` begin with the one that was raised last."""

    moment: datetime
    level: str
    logger: str
    message: str
    request_id: str | None
    fields: Mapping[str, SafeValue] = field(default_factory=lambda: MappingProxyType({}))
    errors: tuple[SafeError, ...] = ()


class RecordReader:
    """Reads records. ``request_id`` returns the current request's id, if any; ``secrets`` are masked everywhere.

    ``worker`` is a field of each record, if given.
    """

    def __init__(
        self, *, request_id: Callable[[], str | None], secrets: Iterable[str] = (), worker: str | None = None
    ) -> None:
        self._request_id = request_id
        self._common = {} if worker is None else {"worker": worker}
        self._secrets = tuple(sorted(set(secrets), key=len, reverse=True))

    def read(self, record: logging.LogRecord) -> SafeRecord:
        given = getattr(record, FIELDS, None)
        fields = given if isinstance(given, Mapping) else {}
        error = record.exc_info[1] if record.exc_info else None
        return SafeRecord(
            moment=datetime.fromtimestamp(record.created, UTC),
            level=record.levelname.lower(),
            logger=record.name,
            message=self._masked(_message(record)),
            request_id=self._request_id(),
            fields={**self._common, **{name: self._safe(value) for name, value in fields.items()}},
            errors=tuple(self._safe_error(cause) for cause in _chain(error)),
        )

    def _safe_error(self, error: BaseException) -> SafeError:
        return SafeError(
            kind=type(error).__qualname__,
            message=self._masked(str(error)) if isinstance(error, RagcorpError) else None,
            frames=tuple(_frames(error)),
        )

    def _safe(self, value: object) -> SafeValue:
        return value if value is None or isinstance(value, bool | int | float) else self._masked(str(value))

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}..."


def escaped(text: str) -> str:
    """Return the text on one line, with characters that could forge or hide text escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(character) if unicodedata.category(character) in UNSAFE else character for character in text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _message(record: logging.LogRecord) -> str:
    library = record.name.partition(".")[0]
    if library == OURS:
        try:
            return record.getMessage()
        except (TypeError, ValueError):
            return str(record.msg)
    if library not in TEMPLATED:
        return f"(message withheld: it may contain values; {record.funcName}, line {record.lineno})"
    template = str(record.msg).partition("\n")[0]
    try:
        return template % tuple(map(_argument, record.args)) if isinstance(record.args, tuple) else template
    except (TypeError, ValueError):
        return template


def _argument(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float) else f"<{type(value).__name__}>"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, its causes and the members of groups; no exception twice."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < MAX_CAUSES:
        error = waiting.pop(0)
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup):
            waiting += error.exceptions
        waiting.append(error.__cause__ or (None if error.__suppress_context__ else error.__context__))


def _frames(error: BaseException) -> Iterator[str]:
    """Yield file, line and function of each frame, the innermost last; no source and no local variable."""
    for frame, line in list(walk_tb(error.__traceback__))[-MAX_FRAMES:]:
        yield f"{_short(frame.f_code.co_filename)}:{line} {frame.f_code.co_name}"


def _short(path: str) -> str:
    """Return a module's path from its package on, without the place of installation."""
    for root in ("/site-packages/", "/apps/backend/", "/lib/"):
        _, root_in_path, rest = path.rpartition(root)
        if root_in_path:
            return rest
    return path.rpartition("/")[2]


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


def _as_json(error: SafeError) -> dict[str, object]:
    message = {} if error.message is None else {"message": error.message}
    return {"type": error.kind, "frames": list(error.frames), **message}
