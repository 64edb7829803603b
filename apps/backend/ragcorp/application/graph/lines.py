"""Reads entities and facts as JSON objects, the lines of a file or of a bulk request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from ragcorp.application.validation.graph_drafts import entity_draft, fact_draft, reference
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.graph import ENTITY, FACT, EntityDraft, EntityReference, FactDraft, Provenance
from ragcorp.domain.moments import written_moment
from ragcorp.domain.principal import Sensitivity

SHARED = frozenset({"type", "external_id", "language", "sensitivity", "visibility_scope", "owner", "metadata"})
OF_ENTITIES = SHARED | {"name", "kind", "aliases", "description"}
OF_FACTS = SHARED | {
    "subject", "object", "predicate", "kind", "weight", "valid_from", "valid_to", "provenance", "quote",
}  # fmt: skip

Value = TypeVar("Value")


def read_draft(line: Mapping[str, object], *, default_language: str) -> EntityDraft | FactDraft:
    """Return the entity or fact of ``{"type": "entity", "name": ...}`` or ``{"type": "fact", "subject": ...}``.

    Raises InvalidInputError.
    """
    match line.get("type"):
        case "entity":
            return _entity(line, default_language)
        case "fact":
            return _fact(line, default_language)
    raise InvalidInputError(
        "type is not a known one.", field="type", limit="entity, fact", remedy='Say {"type": "entity"} or "fact".'
    )


def _entity(line: Mapping[str, object], default_language: str) -> EntityDraft:
    _require_known(line, OF_ENTITIES)
    aliases = _optional(line, "aliases", list, "a list of names") or []
    if not all(isinstance(alias, str) for alias in aliases):
        raise _wrong("aliases", "a list of names")
    return entity_draft(
        name=_required(line, "name"),
        attributes=_attributes(line, default_language, kind=_optional(line, "kind", str, "text") or ENTITY),
        external_id=_optional(line, "external_id", str, "text"),
        aliases=aliases,
        description=_optional(line, "description", str, "text") or "",
    )


def _fact(line: Mapping[str, object], default_language: str) -> FactDraft:
    _require_known(line, OF_FACTS)
    weight = line.get("weight", 1.0)
    if not isinstance(weight, int | float) or isinstance(weight, bool):
        raise _wrong("weight", "a number")
    if not 0 <= weight <= 1:  # before it is made a float, which an int may be too large for
        raise InvalidInputError("weight is out of range.", field="weight", limit="0 to 1", remedy="Leave it out: 1.")
    return fact_draft(
        subject=_reference(line, "subject"),
        object=_reference(line, "object"),
        predicate=_required(line, "predicate"),
        attributes=_attributes(line, default_language, kind=_optional(line, "kind", str, "text") or FACT),
        external_id=_optional(line, "external_id", str, "text"),
        weight=float(weight),
        valid_from=_time(line, "valid_from"),
        valid_to=_time(line, "valid_to"),
        provenance=_provenance(line),
        quote=_optional(line, "quote", str, "text") or "",
    )


def _reference(line: Mapping[str, object], field: str) -> EntityReference:
    """A name, or ``{"name", "kind"}``, or ``{"external_id"}``."""
    said = line.get(field)
    if isinstance(said, str):
        return reference(field=field, name=said)
    if not isinstance(said, dict):
        raise _wrong(field, "a name, or an object with external_id or name")
    _require_known(said, frozenset({"external_id", "name", "kind"}), inside=f"{field}.")
    return reference(
        field=field,
        name=_optional(said, "name", str, "text", inside=f"{field}."),
        external_id=_optional(said, "external_id", str, "text", inside=f"{field}."),
        kind=_optional(said, "kind", str, "text", inside=f"{field}."),
    )


def _provenance(line: Mapping[str, object]) -> Provenance | None:
    said = _optional(line, "provenance", dict, "an object with document or chunk_id")
    if said is None:
        return None
    _require_known(said, frozenset({"document", "chunk_index", "chunk_id"}), inside="provenance.")
    index = _optional(said, "chunk_index", int, "a whole number", inside="provenance.")
    if isinstance(index, bool):
        raise _wrong("provenance.chunk_index", "a whole number")
    return Provenance(
        document=_optional(said, "document", str, "text", inside="provenance."),
        chunk_index=index,
        chunk_id=_optional(said, "chunk_id", str, "text", inside="provenance."),
    )


def _attributes(line: Mapping[str, object], default_language: str, *, kind: str) -> DocumentAttributes:
    scope = _optional(line, "visibility_scope", str, "text") or VisibilityScope.WORKSPACE
    if scope not in set(VisibilityScope):
        raise InvalidInputError(
            "visibility_scope is not a known scope.",
            field="visibility_scope",
            limit=", ".join(VisibilityScope),
            remedy="Use one of the listed scopes.",
        )
    return DocumentAttributes(
        language=_optional(line, "language", str, "text") or default_language,
        artifact_type=kind,
        sensitivity=Sensitivity.parse(_optional(line, "sensitivity", str, "text") or Sensitivity.NORMAL.label),
        visibility_scope=VisibilityScope(scope),
        owner=_optional(line, "owner", str, "text") or "",
        metadata=_optional(line, "metadata", dict, "an object") or {},
    )


def _time(line: Mapping[str, object], field: str) -> datetime | None:
    text = _optional(line, field, str, "text")
    if text is None:
        return None
    try:
        return written_moment(text)
    except ValueError:
        raise InvalidInputError(
            f"{field} is not an ISO 8601 time.", field=field, remedy="Write it as 2026-03-31T00:00:00Z."
        ) from None


def _required(line: Mapping[str, object], field: str) -> str:
    value = _optional(line, field, str, "text")
    if value is None:
        raise InvalidInputError(f"{field} is missing.", field=field, remedy=f"Give {field}.")
    return value


def _optional(
    line: Mapping[str, object], field: str, kind: type[Value], wanted: str, *, inside: str = ""
) -> Value | None:
    value = line.get(field)
    if value is not None and not isinstance(value, kind):
        raise _wrong(f"{inside}{field}", wanted)
    return value


def _require_known(line: Mapping[str, object], known: frozenset[str], *, inside: str = "") -> None:
    if line.keys() - known:
        raise InvalidInputError(
            "The line has a field that is not known here.",
            field=inside.rstrip(".") or "line",
            limit=", ".join(sorted(known)),
            remedy="Leave it out, or put it into metadata.",
        )


def _wrong(field: str, wanted: str) -> InvalidInputError:
    return InvalidInputError(
        f"{field} is not {wanted}.", field=field, limit=wanted, remedy=f"Give {field} as {wanted}."
    )
