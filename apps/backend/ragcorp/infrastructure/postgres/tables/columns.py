"""Columns, indexes and tables that recur in the schema."""

from typing import Any

import sqlalchemy as sa
from pgvector.sqlalchemy import Vector
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def required(kind: type[TypeEngine[Any]] | TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    """Return NOT NULL columns of one type, without a default."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def text(name: str, default: str = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def array(name: str, kind: type[TypeEngine[Any]] = sa.Text) -> sa.Column[Any]:
    """Return an array column, empty by default."""
    return sa.Column(name, sa.ARRAY(kind), nullable=False, server_default="{}")


def flag(name: str, *, default: bool = False) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.text(str(default).lower()))


def moment(name: str) -> sa.Column[Any]:
    """Return a time stamp, by default that of the row's insertion."""
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())


def metadata_column() -> sa.Column[Any]:
    return sa.Column("metadata", JSONB, nullable=False, server_default="{}")


def cascading(name: str, target: str, **options: Any) -> sa.Column[Any]:
    """Return a foreign key that deletes its rows with the referenced row."""
    return sa.Column(name, sa.ForeignKey(target, ondelete="CASCADE"), **{"nullable": False} | options)


def gin_index(name: str, column: Any, *, operators: str | None = None, **parameters: Any) -> sa.Index:
    """Return a GIN index; ``parameters`` are its storage parameters."""
    classes = {column.name: operators} if operators else {}
    return sa.Index(name, column, postgresql_using="gin", postgresql_ops=classes, postgresql_with=parameters)


def filter_columns(*, kind: str = "document", dated: bool = False) -> list[sa.Column[Any] | sa.CheckConstraint]:
    """Return the columns that filters and visibility read, on documents and, copied, on chunks.

    ``dated``: rows without a date get the moment at which they are stored.
    """
    return [
        text("language", "es"),
        text("artifact_type", kind),
        sa.Column("sensitivity", sa.SmallInteger, nullable=False, server_default="1"),
        text("visibility_scope", "workspace"),
        text("owner"),
        moment("occurred_at") if dated else sa.Column("occurred_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint("sensitivity between 0 and 3", name="sensitivity"),
        sa.CheckConstraint("visibility_scope in ('workspace', 'group', 'private')", name="visibility_scope"),
    ]


def identity() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger, sa.Identity(always=False), primary_key=True)


def external_identity() -> list[sa.Column[Any] | sa.UniqueConstraint]:
    """Return the id, and the workspace and external_id that are unique together."""
    return [
        identity(),
        *required(sa.Text, "workspace"),
        *required(sa.Text(collation="C"), "external_id"),
        sa.UniqueConstraint("workspace", "external_id"),
    ]


def timestamps() -> list[sa.Column[Any]]:
    return [moment("created_at"), moment("updated_at")]


def vectors_table(name: str, key: str, *, of: sa.Table) -> sa.Table:
    """Return a table with a vector per row of ``of`` and model.

    Each model has an HNSW index of its own (see embedding_models.py): one graph cannot contain two vector spaces.
    """
    table = sa.Table(
        name,
        metadata,
        sa.Column(key, of.c.id.type, sa.ForeignKey(of.c.id, ondelete="CASCADE"), primary_key=True),
        sa.Column("model_id", sa.SmallInteger, sa.ForeignKey("embedding_models.id"), primary_key=True),
        *required(sa.Text, "workspace"),
        *required(Vector(), "embedding"),
    )
    sa.Index(f"ix_{name}_workspace", table.c.model_id, table.c.workspace)
    return table


def backlog_table(name: str, key: str, *more: sa.Column[Any], of: sa.Table) -> sa.Table:
    """Return the table of the rows of ``of`` that wait for a vector."""
    table = sa.Table(
        name,
        metadata,
        sa.Column(key, sa.BigInteger, sa.ForeignKey(of.c.id, ondelete="CASCADE"), primary_key=True),
        *more,
        *required(sa.Text, "workspace"),
        sa.Column("attempts", sa.SmallInteger, nullable=False, server_default="0"),
        moment("available_at"),
        flag("failed"),
        sa.Column("reason", sa.Text),
    )
    sa.Index(f"ix_{name}_workspace", table.c.workspace)
    sa.Index(f"ix_{name}_available_at", table.c.available_at, postgresql_where=sa.text("not failed"))
    return table
