"""Filters and visibility over ``documents`` as SQLAlchemy Core expressions (see predicates.py for the hot path)."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Table, and_, or_

from ragcorp.domain.principal import Principal
from ragcorp.domain.search import Condition
from ragcorp.infrastructure.postgres.predicates import COLUMN_TYPES, column_value
from ragcorp.infrastructure.postgres.tables import documents


def readable(table: Table, principal: Principal) -> ColumnElement[bool]:
    """What the principal may read of its workspace: by clearance, scope and ownership."""
    return and_(
        table.c.workspace == principal.workspace,
        table.c.sensitivity <= int(principal.clearance),
        or_(
            table.c.visibility_scope == "workspace",
            and_(table.c.visibility_scope == "group", table.c.owner.in_(sorted(principal.groups))),
            and_(table.c.visibility_scope == "private", table.c.owner == principal.subject),
        ),
    )


def matches(condition: Condition) -> ColumnElement[bool]:
    """Return one filter condition over ``documents``. Raises InvalidInputError for a value the field cannot have."""
    if condition.name not in COLUMN_TYPES:
        return or_(*(documents.c.metadata.contains({condition.name: value}) for value in condition.any_of))
    column = documents.c["id" if condition.name == "document_id" else condition.name]
    if condition.any_of:
        return column.in_([column_value(condition.name, value) for value in condition.any_of])
    bounds = []
    if condition.gte is not None:
        bounds.append(column >= condition.gte)
    if condition.lt is not None:
        bounds.append(column < condition.lt)
    return and_(*bounds)
