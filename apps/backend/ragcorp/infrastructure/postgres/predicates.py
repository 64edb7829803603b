"""Filters and visibility as SQL predicates over the columns of ``chunks`` (c) and ``documents`` (d)."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from psycopg.types.json import Jsonb

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.search import Condition, Filters

DOCUMENT_FIELDS = frozenset({"external_id"})
"""Fields that stand on documents only; as do metadata keys."""


@dataclass(slots=True)
class Predicate:
    """A conjunction for a WHERE clause, with named values (psycopg's ``%(name)s``)."""

    clauses: list[str] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)

    @property
    def sql(self) -> str:
        return " AND ".join(self.clauses) or "true"


def visibility(principal: Principal, *, alias: str = "c") -> Predicate:
    """What the principal may read of its workspace: by clearance, scope and ownership."""
    return Predicate(
        clauses=[
            f"{alias}.workspace = %(workspace)s",
            f"{alias}.sensitivity <= %(clearance)s",
            (
                f"({alias}.visibility_scope = 'workspace'"
                f" OR ({alias}.visibility_scope = 'group' AND {alias}.owner = ANY(%(groups)s))"
                f" OR ({alias}.visibility_scope = 'private' AND {alias}.owner = %(subject)s))"
            ),
        ],
        values={
            "workspace": principal.workspace,
            "clearance": int(principal.clearance),
            "groups": sorted(principal.groups),
            "subject": principal.subject,
        },
    )


def filtered(filters: Filters, *, alias: str = "c", documents_alias: str | None = None) -> Predicate:
    """Return the filters as a predicate; every value is bound, and names never reach the SQL.

    ``documents_alias`` is that of ``documents`` where the statement reads it itself; else conditions on documents
    become a semi-join. Raises InvalidInputError for a value that the field cannot have.
    """
    predicate = Predicate()
    for number, condition in enumerate(filters):
        name = f"filter_{number}"
        on_document = condition.name in DOCUMENT_FIELDS or condition.name not in COLUMN_TYPES
        target = (documents_alias or "d") if on_document else alias
        clause = _clause(condition, name, target, predicate.values)
        if on_document and documents_alias is None:
            clause = (
                f"{alias}.document_id IN (SELECT d.id FROM documents d WHERE d.workspace = %(workspace)s AND {clause})"
            )
        predicate.clauses.append(clause)
    return predicate


def matching_documents(principal: Principal, filters: Filters) -> str:
    """Return what ``filtered`` and ``visibility`` say of chunks as a condition on their documents, with equal names."""
    visible = visibility(principal, alias="d")
    return f"{visible.sql} AND {filtered(filters, alias='d', documents_alias='d').sql}"


def _clause(condition: Condition, name: str, alias: str, values: dict[str, object]) -> str:
    if condition.name not in COLUMN_TYPES:
        # one @> a value, since GIN serves a BitmapOr of them but no ANY(array)
        alternatives = []
        for number, value in enumerate(condition.any_of):
            values[f"{name}_{number}"] = Jsonb({condition.name: value})
            alternatives.append(f"{alias}.metadata @> %({name}_{number})s")
        return f"({' OR '.join(alternatives)})"
    column = "id" if condition.name == "document_id" and alias == "d" else condition.name
    if condition.any_of:
        values[name] = [column_value(condition.name, value) for value in condition.any_of]
        return f"{alias}.{column} = ANY(%({name})s::{COLUMN_TYPES[condition.name]}[])"
    bounds = []
    for bound, operator in (("gte", ">="), ("lt", "<")):
        value = getattr(condition, bound)
        if value is not None:
            values[f"{name}_{bound}"] = value
            bounds.append(f"{alias}.{column} {operator} %({name}_{bound})s::timestamptz")
    return " AND ".join(bounds)


COLUMN_TYPES = {
    "document_id": "uuid",
    "external_id": "text",
    "language": "text",
    "artifact_type": "text",
    "sensitivity": "smallint",
    "visibility_scope": "text",
    "owner": "text",
    "occurred_at": "timestamptz",
}


def column_value(name: str, value: object) -> object:
    text = str(value)
    if name == "sensitivity":
        return int(Sensitivity.parse(text, field="filters.sensitivity"))
    if name == "document_id":
        try:
            return UUID(text)
        except ValueError:
            raise InvalidInputError(
                "The filter document_id is not a UUID.", field="filters.document_id", remedy="Give a document's id."
            ) from None
    if name == "visibility_scope" and text not in set(VisibilityScope):
        raise InvalidInputError(
            "The filter visibility_scope is not a known scope.",
            field="filters.visibility_scope",
            limit=", ".join(VisibilityScope),
            remedy="Use one of the listed scopes.",
        )
    if name == "occurred_at":
        raise InvalidInputError(
            "The filter occurred_at takes a range.", field="filters.occurred_at", remedy="Give 'gte' and/or 'lt'."
        )
    return text
