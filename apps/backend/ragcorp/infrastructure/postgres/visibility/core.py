"""Filters and visibility as SQLAlchemy Core expressions (see predicates.py for the hot path)."""

from __future__ import annotations

import re

from sqlalchemy import ColumnElement, Table, and_, bindparam, or_, text, true
from sqlalchemy.types import NullType

from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.visibility.predicates import DOCUMENTS, FilterTable, filtered

_BOUND = re.compile(r"%\((\w+)\)s")


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


def matches(filters: Filters, *, table: FilterTable = DOCUMENTS, alias: str = "documents") -> ColumnElement[bool]:
    """Return the filters over a table, by its own name unless it has an ``alias``. Raises InvalidInputError."""
    predicate = filtered(filters, table=table, alias=alias)
    # without a type of SQLAlchemy's: it would cast, and a time with its zone to one without
    values = [bindparam(name, value, type_=NullType()) for name, value in predicate.values.items()]
    return and_(true(), text(_BOUND.sub(r"(:\1)", f"({predicate.sql})")).bindparams(*values))
