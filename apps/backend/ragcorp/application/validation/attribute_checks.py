"""Checks and cleans attributes of documents and items, and sets their owner."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from ragcorp.domain.collections import Collection
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError, UnreadableDocumentError
from ragcorp.domain.filters import Filters, narrowed_to
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import clean_text, is_blank, require_length, require_storable
from ragcorp.domain.text.languages import require_language

MAX_EXTERNAL_ID = 500
MAX_TITLE = 500
MAX_PATH = 1_000
MAX_LABEL = 100
MAX_OWNER = 200
"""Equal to the limit of a principal's subject."""
MAX_METADATA_BYTES = 16 * 1024
MAX_METADATA_DEPTH = 8


def checked_attributes(
    attributes: DocumentAttributes, *, max_metadata_bytes: int = MAX_METADATA_BYTES
) -> DocumentAttributes:
    """Return the attributes cleaned, times in UTC. Raises InvalidInputError."""
    title = clean_text(attributes.title, field="title").strip()
    require_length(title, field="title", limit=MAX_TITLE)
    labels = (("artifact_type", attributes.artifact_type, MAX_LABEL), ("owner", attributes.owner, MAX_OWNER))
    for field, value, limit in labels:
        require_storable(value, field=field)
        require_length(value, field=field, limit=limit)
    require_language(attributes.language)
    if attributes.path is not None:
        require_storable(attributes.path, field="path")
        require_length(attributes.path, field="path", limit=MAX_PATH)
    metadata = _storable_metadata(attributes.metadata, depth=1)
    size = len(json.dumps(metadata, ensure_ascii=False).encode())
    if size > max_metadata_bytes:
        raise InvalidInputError(
            "metadata is too large.",
            field="metadata",
            limit=f"{max_metadata_bytes} bytes as JSON",
            remedy="Keep only what filters and results need.",
        )
    occurred_at = attributes.occurred_at and in_utc(attributes.occurred_at)
    return replace(attributes, title=title, metadata=metadata, occurred_at=occurred_at)


def in_utc(moment: datetime) -> datetime:
    """Return the moment in UTC; one without a zone is taken to be in UTC already."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise InvalidInputError.out_of_range(
            "occurred_at", "years 1 to 9999 in UTC", remedy="Give a time in that range."
        ) from None


def owned_attributes(attributes: DocumentAttributes, principal: Principal) -> DocumentAttributes:
    """Set the owner of the scope. Raises InvalidInputError for what the writer could not read back."""
    if attributes.sensitivity > principal.clearance:
        raise InvalidInputError(
            "sensitivity is above your own clearance.",
            field="sensitivity",
            limit=principal.clearance.label,
            remedy="Choose a level that you may read.",
        )
    if attributes.visibility_scope is VisibilityScope.PRIVATE:
        if attributes.owner not in ("", principal.subject):
            raise InvalidInputError(
                "What is private belongs to its writer.",
                field="owner",
                remedy="Leave owner out, or choose another visibility_scope.",
            )
        return replace(attributes, owner=principal.subject)
    if attributes.visibility_scope is VisibilityScope.GROUP and attributes.owner not in principal.groups:
        raise InvalidInputError(
            "What is a group's needs one of your groups as its owner.",
            field="owner",
            remedy="Name a group that you are in, or choose another visibility_scope.",
        )
    return attributes


def require_external_id(external_id: str) -> None:
    """Raise InvalidInputError unless ``external_id`` can name a document or an item."""
    require_storable(external_id, field="external_id")
    require_length(external_id, field="external_id", limit=MAX_EXTERNAL_ID, minimum=1)
    if any(ord(character) < 32 or ord(character) == 127 for character in external_id) or is_blank(external_id):
        raise InvalidInputError(
            "external_id is blank or contains a control character.",
            field="external_id",
            remedy="Use a path or a plain name.",
        )


def require_selection(prefix: str, filters: Filters, *, collection: Collection) -> None:
    """Raise InvalidInputError for an impossible prefix, and unless prefix or filters narrow the collection."""
    require_storable(prefix, field="prefix")
    if not prefix and narrowed_to(filters, collection) == ():
        raise InvalidInputError(
            "A deletion needs a prefix or a filter.",
            field="prefix",
            remedy="Name a prefix of external_id, or at least one filter.",
        )


def superseded(kind: str) -> InvalidInputError:
    """Return the error of an entry that a later one of its batch replaces."""
    return InvalidInputError(
        "A later line of this batch names the same external_id.", field="external_id", remedy=f"Send each {kind} once."
    )


def wrong_type(name: str, wanted: str) -> InvalidInputError:
    return InvalidInputError(f"{name} is not {wanted}.", field=name, limit=wanted, remedy=f"Give {name} as {wanted}.")


def prose(text: str, *, field: str) -> str:
    """Return ``text`` in NFC, NUL as a space, without other control characters. Raises InvalidInputError."""
    return clean_text(text.replace("\x00", " "), field=field)


def one_line(text: str, *, field: str) -> str:
    """Return ``text`` as ``prose`` on one line, with single spaces. Raises InvalidInputError."""
    return " ".join(prose(text, field=field).split())


def require_text(text: str) -> None:
    """Raise UnreadableDocumentError for a text without visible characters."""
    if is_blank(text):
        raise UnreadableDocumentError("text is empty.", field="text", remedy="Send a text with at least one word.")


def _storable_metadata(metadata: Mapping[str, object], *, depth: int) -> dict[str, object]:
    cleaned: dict[str, object] = {}
    for key, value in metadata.items():
        require_storable(key, field="metadata")
        cleaned[key] = _storable_value(value, depth=depth)
    return cleaned


def _storable_value(value: object, *, depth: int) -> object:
    if depth > MAX_METADATA_DEPTH:
        raise InvalidInputError(
            "metadata is nested too deeply.", field="metadata", limit=f"{MAX_METADATA_DEPTH} levels"
        )
    match value:
        case str():
            require_storable(value, field="metadata")
            return value
        case bool() | int() | None:
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping():
            return _storable_metadata(value, depth=depth + 1)
        case list() | tuple():
            return [_storable_value(item, depth=depth + 1) for item in value]
    raise InvalidInputError(
        "metadata contains a value that JSON cannot carry.",
        field="metadata",
        remedy="Use text, finite numbers, booleans, null, lists and objects.",
    )
