"""Columns and tables that recur in the schema."""

from typing import Any

import sqlalchemy as sa
from pgvector.sqlalchemy import Vector

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def filter_columns(*, kind: str = "document", dated: bool = False) -> list[sa.Column[object] | sa.CheckConstraint]:
    """Return the columns that filters and visibility read, on documents and, copied, on chunks.

    ``dated``: rows without a date get the moment at which they are stored.
    """
    default = sa.func.now() if dated else None
    return [
        sa.Column("language", sa.Text, nullable=False, server_default="es"),
        sa.Column("artifact_type", sa.Text, nullable=False, server_default=kind),
        sa.Column("sensitivity", sa.SmallInteger, nullable=False, server_default="1"),
        sa.Column("visibility_scope", sa.Text, nullable=False, server_default="workspace"),
        sa.Column("owner", sa.Text, nullable=False, server_default=""),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=not dated, server_default=default),
        sa.CheckConstraint("sensitivity between 0 and 3", name="sensitivity"),
        sa.CheckConstraint("visibility_scope in ('workspace', 'group', 'private')", name="visibility_scope"),
    ]


def identity() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger, sa.Identity(always=False), primary_key=True)


def timestamps() -> list[sa.Column[Any]]:
    return [
        sa.Column(name, sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())
        for name in ("created_at", "updated_at")
    ]


def vectors_table(name: str, key: str, *, of: sa.Table) -> sa.Table:
    """Return a table with a vector per row of ``of`` and model.

    Each model has an HNSW index of its own (see embedding_models.py): one graph cannot contain two vector spaces.
    """
    table = sa.Table(
        name,
        metadata,
        sa.Column(key, of.c.id.type, sa.ForeignKey(of.c.id, ondelete="CASCADE"), primary_key=True),
        sa.Column("model_id", sa.SmallInteger, sa.ForeignKey("embedding_models.id"), primary_key=True),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("embedding", Vector(), nullable=False),
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
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("attempts", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("available_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.Column("failed", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("reason", sa.Text),
    )
    sa.Index(f"ix_{name}_workspace", table.c.workspace)
    sa.Index(f"ix_{name}_available_at", table.c.available_at, postgresql_where=sa.text("not failed"))
    return table
