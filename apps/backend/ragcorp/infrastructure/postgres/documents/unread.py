"""The column of parts that were not read, as JSON."""

from collections.abc import Sequence
from typing import Any

from ragcorp.domain.documents import UnreadKind, UnreadPart


def unread_values(parts: Sequence[UnreadPart]) -> list[dict[str, object]]:
    return [{"kind": part.kind.value, "count": part.count, "places": list(part.places)} for part in parts]


def read_unread(values: Sequence[dict[str, Any]]) -> tuple[UnreadPart, ...]:
    return tuple(
        UnreadPart(kind=UnreadKind(value["kind"]), count=value["count"], places=tuple(value["places"]))
        for value in values
    )
