"""Reads turns of conversations as chat exports write them. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from cachetools import LRUCache

from ragcorp.application.validation.attribute_checks import wrong_type
from ragcorp.application.validation.item_drafts import checked_draft, content_name, item_draft
from ragcorp.domain.collections import TURN, Collection, ItemDraft
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.moments import written_moment
from ragcorp.domain.principal import Principal, Sensitivity

TEXT = ("text", "content", "message", "body", "parts")
SPEAKER = ("speaker", "author", "role", "sender", "from", "user", "username", "name")
SESSION = ("session", "session_id", "conversation", "conversation_id", "thread", "thread_id", "chat_id", "channel")
TIME = ("timestamp", "time", "ts", "created_at", "create_time", "date", "datetime", "occurred_at", "sent_at")
ATTRIBUTES = ("external_id", "language", "artifact_type", "sensitivity", "visibility_scope", "owner", "entities")
METADATA = "metadata"
_FIELDS = frozenset((*TEXT, *SPEAKER, *SESSION, *TIME, *ATTRIBUTES, METADATA))

MAX_REMEMBERED = 100_000
MAX_EXTRA_CHARACTERS = 200
_EPOCH = re.compile(r"-?\d{1,19}(?:\.\d{1,9})?")
_UNITS = ((1e16, 1e9), (1e14, 1e6), (1e11, 1e3))
"""Epochs from these values on are in nanoseconds, microseconds or milliseconds: as seconds, after the year 5138."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDefaults:
    """Values for turns that do not give their own."""

    attributes: DocumentAttributes
    session: str | None = None


class TurnReader:
    """Reads the turns of an import. Names derive from content and the number of equal turns before: repeatable."""

    def __init__(self, *, defaults: TurnDefaults, principal: Principal) -> None:
        self._defaults = defaults
        self._principal = principal
        self._seen: LRUCache[str, int] = LRUCache(maxsize=MAX_REMEMBERED)

    def read(self, turn: Mapping[str, object]) -> ItemDraft:
        """Return a checked, named turn. Of several names of a field the first counts; short unknown values are
        metadata.
        """
        draft = self._draft(turn)
        named = checked_draft(draft, principal=self._principal)
        if draft.external_id is not None:
            return named
        base = content_name(named, principal=self._principal)
        position = self._seen.get(base, 0)
        self._seen[base] = position + 1
        return replace(named, named_after=content_name(named, principal=self._principal, position=position))

    def _draft(self, turn: Mapping[str, object]) -> ItemDraft:
        attributes = self._defaults.attributes
        sensitivity = _text(turn, "sensitivity")
        scope = _text(turn, "visibility_scope")
        return item_draft(
            collection=Collection.HISTORY,
            text=_content(turn),
            external_id=_text(turn, "external_id"),
            session=_first_text(turn, SESSION) or self._defaults.session,
            speaker=_speaker(turn),
            entities=_entities(turn),
            attributes=replace(
                attributes,
                language=_text(turn, "language") or attributes.language,
                artifact_type=_text(turn, "artifact_type") or TURN,
                sensitivity=Sensitivity.parse(sensitivity) if sensitivity else attributes.sensitivity,
                visibility_scope=VisibilityScope.parse(scope) if scope else attributes.visibility_scope,
                owner=_text(turn, "owner") or attributes.owner,
                occurred_at=_time(turn),
                metadata=dict(attributes.metadata) | _extra(turn),
            ),
        )


def moment(value: object) -> datetime:
    """Parse ISO 8601 (UTC without a zone) or an epoch in seconds, ms, µs or ns; return UTC. Raises ValueError."""
    if isinstance(value, str):
        written = value.strip()
        if not _EPOCH.fullmatch(written) or re.fullmatch(r"\d{8}", written):  # 20260331 is a date
            parsed = written_moment(written)
            return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        value = float(written)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError  # noqa: TRY004 - the caller treats both alike
    seconds = next((value / unit for least, unit in _UNITS if abs(value) >= least), value)
    return datetime.fromtimestamp(seconds, UTC)


def _time(turn: Mapping[str, object]) -> datetime:
    name = _first(turn, TIME)
    if name is None:
        raise InvalidInputError(
            "A turn needs the time at which it was said.",
            field="timestamp",
            limit=", ".join(TIME),
            remedy="Give it as ISO 8601 or as seconds since 1970, under one of the listed names.",
        )
    try:
        return moment(turn[name])
    except (ValueError, OverflowError, OSError):
        raise InvalidInputError(
            f"{name} is no time.",
            field=name,
            limit="years 1 to 9999 in UTC",
            remedy="Write it as 2026-03-31T17:05:00Z, or as seconds since 1970.",
        ) from None


def _content(turn: Mapping[str, object]) -> str:
    name = _first(turn, TEXT)
    if name is None:
        raise InvalidInputError(
            "A turn needs a text.", field="text", limit=", ".join(TEXT), remedy="Give it under one of the listed names."
        )
    parts = _parts(turn[name])
    if parts is None:
        raise wrong_type(name, "text, or a list of texts")
    return "\n".join(parts)


def _parts(value: object) -> list[str] | None:
    """Return the texts of a string, of an object with ``text`` or ``parts``, or of a list of these."""
    match value:
        case str():
            return [value]
        case {"text": str(text)}:
            return [text]
        case {"parts": [*parts]} | [*parts]:
            lists = [_parts(part) for part in parts if isinstance(part, str | Mapping)]
            return [text for texts in lists if texts for text in texts]
    return None


def _speaker(turn: Mapping[str, object]) -> str | None:
    """Return the speaker: a name, or ``name`` or ``role`` of an object."""
    name = _first(turn, SPEAKER)
    value = turn[name] if name else None
    if isinstance(value, Mapping):
        value = value.get("name") or value.get("role")
    return _as_text(value, name or "speaker")


def _entities(turn: Mapping[str, object]) -> Sequence[str]:
    value = turn.get("entities")
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(entity, str) for entity in value):
        return value
    raise wrong_type("entities", "a list of texts")


def _extra(turn: Mapping[str, object]) -> dict[str, object]:
    metadata = turn.get(METADATA)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise wrong_type(METADATA, "an object")
    extra = {name: value for name, value in turn.items() if name not in _FIELDS and _is_short(name, value)}
    return extra | dict(metadata or {})


def _is_short(name: str, value: object) -> bool:
    if isinstance(value, str):
        return len(name) + len(value) <= MAX_EXTRA_CHARACTERS
    return isinstance(value, bool | int | float) and len(name) <= MAX_EXTRA_CHARACTERS


def _first(turn: Mapping[str, object], names: Sequence[str]) -> str | None:
    return next((name for name in names if turn.get(name) not in (None, "")), None)


def _first_text(turn: Mapping[str, object], names: Sequence[str]) -> str | None:
    name = _first(turn, names)
    return None if name is None else _text(turn, name)


def _text(turn: Mapping[str, object], name: str) -> str | None:
    return _as_text(turn.get(name), name)


def _as_text(value: object, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise wrong_type(name, "text")
