"""Filters and visibility as SQL predicates, over the tables of every collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from psycopg.types.json import Jsonb

from ragcorp.domain.collections import GRAPH, Collection
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import (
    COMPARISONS,
    METADATA,
    AllOf,
    AnyOf,
    Condition,
    Filter,
    Filters,
    FilterValue,
    Not,
    Operator,
    fields_of,
    narrowed_to,
)
from ragcorp.domain.principal import Principal, Sensitivity

_COLUMN_TYPES = {"document_id": "uuid", "sensitivity": "smallint", "occurred_at": "timestamptz"}
"""Types of the columns that are not text."""

_SIGNS = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterTable:
    """The fields of a table that can be filtered: its collection, and the column of each field.

    ``on_documents`` are fields that only the row's document has. ``spans`` are fields with a start and an end column
    (null: open); a range matches a span that overlaps it.
    """

    collection: str
    columns: Mapping[str, str]
    on_documents: frozenset[str] = frozenset()
    spans: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def _columns(*more: str) -> dict[str, str]:
    names = ("language", "artifact_type", "sensitivity", "visibility_scope", "owner", "occurred_at", *more)
    return {name: name for name in names}


_OF_ITEMS = _columns("external_id", METADATA, "session", "speaker")
_OF_DOCUMENTS = _columns("external_id", METADATA) | {"document_id": "id"}

CHUNKS = FilterTable(
    collection=Collection.ARTIFACT_CHUNKS,
    columns=_columns("document_id"),
    on_documents=frozenset({"external_id", METADATA}),
)
DOCUMENTS = FilterTable(collection=Collection.ARTIFACTS, columns=_OF_DOCUMENTS)
MEMORY = FilterTable(collection=Collection.MEMORY, columns=_OF_ITEMS)
HISTORY = FilterTable(collection=Collection.HISTORY, columns=_OF_ITEMS)
FACTS = FilterTable(
    collection=GRAPH,
    columns=_columns("external_id", METADATA, "document_id"),
    spans={"occurred_at": ("valid_from", "valid_to")},
)
ENTITIES = FilterTable(collection=GRAPH, columns=_columns("external_id", METADATA))


@dataclass(slots=True)
class Predicate:
    """A conjunction for a WHERE clause, with named values (psycopg's ``%(name)s``)."""

    clauses: list[str] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, *clauses: str, **values: object) -> Predicate:
        return cls(clauses=list(clauses), values=values)

    @property
    def sql(self) -> str:
        return " AND ".join(self.clauses) or "true"

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(clauses=[*self.clauses, *other.clauses], values=self.values | other.values)

    def bind(self, template: str, *, table: str = "", **values: object) -> tuple[str, dict[str, object]]:
        """Return the statement with this condition in place of ``{condition}``, and all its values."""
        return template.format(condition=self.sql, table=table), self.values | values


def visibility(principal: Principal, *, alias: str = "c") -> Predicate:
    """Return the condition on rows that the principal may read: workspace, clearance, scope and owner."""
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


def named(alias: str, *, prefix: str = "", after: str | None = None) -> Predicate:
    """Return the condition on rows whose external_id starts with ``prefix`` and sorts after ``after``."""
    predicate = Predicate()
    if prefix:
        # an index serves the bound even if the prefix is not known at planning
        predicate &= Predicate.of(
            f"{alias}.external_id >= %(prefix)s", f"starts_with({alias}.external_id, %(prefix)s)", prefix=prefix
        )
    if after is not None:
        predicate &= Predicate.of(f"{alias}.external_id > %(after)s", after=after)
    return predicate


def filtered(
    filters: Filters, *, table: FilterTable = CHUNKS, alias: str = "c", documents_alias: str | None = None
) -> Predicate:
    """Return the filters as a predicate; all values are bound, and the SQL contains no names of the caller.

    Filters of one shape have one text, and a value has one name in all its predicates. No clause means no restriction.
    ``documents_alias`` is that of ``documents`` if the statement joins them; else conditions on fields of documents
    become one semi-join. Raises InvalidInputError for an unknown field.
    """
    narrowed = narrowed_to(filters, table.collection)
    if narrowed is None:
        return Predicate(clauses=["false"])
    predicate = Predicate()
    rendering = _Rendering(table=table, alias=alias, documents_alias=documents_alias or alias, values=predicate.values)
    of_documents = _Rendering(table=DOCUMENTS, alias="d", documents_alias="d", values=predicate.values)
    semi_joined = []
    for part in narrowed:
        if documents_alias is None and fields_of([part]) & table.on_documents:
            semi_joined.append(of_documents.sql(part))
        else:
            predicate.clauses.append(rendering.sql(part))
    if semi_joined:
        predicate.clauses.append(
            f"{alias}.document_id IN"
            f" (SELECT d.id FROM documents d WHERE d.workspace = %(workspace)s AND {' AND '.join(semi_joined)})"
        )
    return predicate


def matching_documents(principal: Principal, filters: Filters, *, table: FilterTable = CHUNKS) -> str:
    """Return ``filtered`` and ``visibility`` of chunks as a condition on their documents, with the same value names."""
    narrowed = narrowed_to(filters, table.collection)
    visible = visibility(principal, alias="d").sql
    return f"{visible} AND {'false' if narrowed is None else filtered(narrowed, table=DOCUMENTS, alias='d').sql}"


@dataclass(slots=True, kw_only=True)
class _Rendering:
    """Renders a filter tree as SQL over one alias, numbering values in order.

    A condition on a column may be NULL, which counts as false in WHERE, AND and OR but not under NOT: so negations are
    written IS NOT TRUE.
    """

    table: FilterTable
    alias: str
    documents_alias: str
    values: dict[str, object]

    def sql(self, tree: Filter) -> str:
        match tree:
            case AllOf():
                return f"({' AND '.join(self.sql(part) for part in tree.parts)})"
            case AnyOf():
                return f"({' OR '.join(self.sql(part) for part in tree.parts)})"
            case Not():
                return f"({self.sql(tree.part)}) IS NOT TRUE"
            case Condition():
                condition = self._of_metadata(tree) if tree.of_metadata else self._of_column(tree)
                return f"({condition}) IS NOT TRUE" if tree.operator is Operator.NOT_IN else condition

    def _of_column(self, condition: Condition) -> str:
        column = self._column(condition.name)
        kind = _COLUMN_TYPES.get(condition.name, "text")
        if condition.operator is Operator.EXISTS:
            return f"{column} IS {'NOT ' if condition.values[0] else ''}NULL"
        if condition.operator in COMPARISONS:
            (value,) = condition.values
            if condition.name in self.table.spans:
                column = self._end_of_span(condition)
            return f"{column} {_SIGNS[condition.operator]} {self._bound(_stored(condition.name, value))}::{kind}"
        values = [_stored(condition.name, value) for value in condition.values]
        return f"{column} = ANY({self._bound(values)}::{kind}[])"

    def _end_of_span(self, condition: Condition) -> str:
        """Return the end of a span to compare with a lower bound, its start for an upper bound."""
        start, end = self.table.spans[condition.name]
        if condition.operator in (Operator.GT, Operator.GTE):
            return f"coalesce({self.alias}.{end}, 'infinity')"
        return f"coalesce({self.alias}.{start}, '-infinity')"

    def _of_metadata(self, condition: Condition) -> str:
        column = self._column(METADATA)
        if condition.operator is Operator.EXISTS:
            key = f"{self._bound(condition.name)}::text"
            return f"{column} ->> {key} IS {'NOT ' if condition.values[0] else ''}NULL"
        if condition.operator in COMPARISONS:
            return self._compared(condition, column)
        # one @> per value: GIN supports a BitmapOr of them, but not ANY(array)
        matches = [f"{column} @> {self._bound(Jsonb({condition.name: value}))}" for value in condition.values]
        return f"({' OR '.join(matches)})"

    def _compared(self, condition: Condition, column: str) -> str:
        (value,) = condition.values
        key = f"{self._bound(condition.name)}::text"
        sign = _SIGNS[condition.operator]
        if isinstance(value, str):
            kind, stored, bound = "string", f'({column} ->> {key}) COLLATE "C"', f"{self._bound(value)}::text"
        else:
            # the shortest decimal: a cast from float8 would round to 15 digits
            number = self._bound(Decimal(repr(value)))
            kind, stored, bound = "number", f"({column} -> {key})::numeric", f"{number}::numeric"
        # CASE: conditions of an AND may be evaluated in any order, and casting a value other than a number fails
        return f"CASE jsonb_typeof({column} -> {key}) WHEN '{kind}' THEN {stored} {sign} {bound} ELSE false END"

    def _column(self, name: str) -> str:
        if name in self.table.on_documents:
            return f"{self.documents_alias}.{DOCUMENTS.columns[name]}"
        if name not in self.table.columns:
            raise InvalidInputError(
                f"This collection cannot be filtered by {name}.",
                field=f"filters.{name}",
                limit=", ".join(sorted({*self.table.columns, *self.table.on_documents})),
                remedy="Leave this filter out, or search a collection with that field.",
            )
        return f"{self.alias}.{self.table.columns[name]}"

    def _bound(self, value: object) -> str:
        name = f"filter_{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


def _stored(name: str, value: FilterValue) -> object:
    """Return a value in the type of the field's column."""
    if name == "sensitivity":
        return int(Sensitivity.parse(str(value)))
    return UUID(str(value)) if name == "document_id" else value
