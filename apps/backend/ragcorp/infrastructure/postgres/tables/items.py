"""Tables of memory and history items, and of whole documents as a collection."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from ragcorp.infrastructure.postgres.tables.columns import (
    backlog_table,
    filter_columns,
    identity,
    metadata,
    timestamps,
    vectors_table,
)
from ragcorp.infrastructure.postgres.tables.documents import documents


def items_table(name: str, *, kind: str) -> sa.Table:
    """Return the table of a collection's items. A trigger sets ``lexemes``, ``length``, ``terms`` (migration 008)."""
    table = sa.Table(
        name,
        metadata,
        identity(),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("external_id", sa.Text(collation="C"), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        *filter_columns(kind=kind, dated=True),
        sa.Column("session", sa.Text),
        sa.Column("speaker", sa.Text),
        sa.Column("entities", sa.ARRAY(sa.Text), nullable=False, server_default="{}"),
        sa.Column("metadata", JSONB, nullable=False, server_default="{}"),
        sa.Column("content_hash", sa.LargeBinary, nullable=False),
        *timestamps(),
        sa.Column("lexemes", TSVECTOR, nullable=False),
        sa.Column("length", sa.Integer, nullable=False),
        sa.Column("terms", sa.ARRAY(sa.Integer), nullable=False),
        sa.UniqueConstraint("workspace", "external_id"),
    )
    sa.Index(
        f"ix_{name}_metadata", table.c.metadata, postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}
    )
    sa.Index(
        f"ix_{name}_impacts",
        sa.func.bm25_impacts(table.c.terms, table.c.length),
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
    sa.Index(f"ix_{name}_workspace_occurred_at", table.c.workspace, table.c.occurred_at)
    sa.Index(f"ix_{name}_workspace_session", table.c.workspace, table.c.session)
    sa.Index(f"ix_{name}_workspace_content_hash", table.c.workspace, table.c.content_hash)
    sa.Index(
        f"ix_{name}_workspace_id",
        table.c.workspace,
        table.c.id,
        postgresql_include=["length", "sensitivity", "visibility_scope", "owner"],
    )
    return table


memory_items = items_table("memory_items", kind="fact")
memory_embeddings = vectors_table("memory_embeddings", "item_id", of=memory_items)
memory_backlog = backlog_table("memory_backlog", "item_id", of=memory_items)

history_turns = items_table("history_turns", kind="turn")
history_embeddings = vectors_table("history_embeddings", "item_id", of=history_turns)
history_backlog = backlog_table("history_backlog", "item_id", of=history_turns)

item_name_key = sa.Table(
    "item_name_key", metadata, sa.Column("key", sa.Uuid, primary_key=True, server_default=sa.func.gen_random_uuid())
)

document_embeddings = vectors_table("document_embeddings", "document_id", of=documents)

# kept by the triggers of migration 008 from the rows of bm25_chunks
document_terms = sa.Table(
    "document_terms",
    metadata,
    sa.Column("document_id", sa.Uuid, sa.ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("terms", sa.ARRAY(sa.Integer), nullable=False),
)
sa.Index(
    "ix_document_terms_impacts",
    sa.func.bm25_impacts(document_terms.c.terms, document_terms.c.length),
    postgresql_using="gin",
    postgresql_with={"fastupdate": "off"},
)
sa.Index(
    "ix_document_terms_workspace_document_id",
    document_terms.c.workspace,
    document_terms.c.document_id,
    postgresql_include=["length"],
)
