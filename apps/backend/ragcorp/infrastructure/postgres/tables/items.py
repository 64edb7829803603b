"""Tables of the collections beside documents and chunks: memory, history, and what is known of whole documents."""

from __future__ import annotations

from pgvector.sqlalchemy import Vector
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from ragcorp.infrastructure.postgres.tables.documents import filter_columns, metadata


def items_table(name: str, *, kind: str) -> Table:
    """The items of one collection. ``lexemes``, ``length`` and ``terms`` are a trigger's (migration 008)."""
    table = Table(
        name,
        metadata,
        Column("id", BigInteger, Identity(always=False), primary_key=True),
        Column("workspace", Text, nullable=False),
        Column("external_id", Text(collation="C"), nullable=False),
        Column("text", Text, nullable=False),
        *filter_columns(kind=kind, dated=True),
        Column("session", Text),
        Column("speaker", Text),
        Column("entities", ARRAY(Text), nullable=False, server_default="{}"),
        Column("metadata", JSONB, nullable=False, server_default="{}"),
        Column("content_hash", LargeBinary, nullable=False),
        Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
        Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
        Column("lexemes", TSVECTOR, nullable=False),
        Column("length", Integer, nullable=False),
        Column("terms", ARRAY(Integer), nullable=False),
        UniqueConstraint("workspace", "external_id"),
    )
    Index(
        f"ix_{name}_metadata", table.c.metadata, postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}
    )
    Index(
        f"ix_{name}_impacts",
        func.bm25_impacts(table.c.terms, table.c.length),
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
    Index(f"ix_{name}_workspace_occurred_at", table.c.workspace, table.c.occurred_at)
    Index(f"ix_{name}_workspace_session", table.c.workspace, table.c.session)
    Index(f"ix_{name}_workspace_content_hash", table.c.workspace, table.c.content_hash)
    Index(
        f"ix_{name}_workspace_id",
        table.c.workspace,
        table.c.id,
        postgresql_include=["length", "sensitivity", "visibility_scope", "owner"],
    )
    return table


def item_embeddings_table(name: str, *, items: str) -> Table:
    """The vectors of items: a row an item and model."""
    table = Table(
        name,
        metadata,
        Column("item_id", BigInteger, ForeignKey(f"{items}.id", ondelete="CASCADE"), primary_key=True),
        Column("model_id", SmallInteger, ForeignKey("embedding_models.id"), primary_key=True),
        Column("workspace", Text, nullable=False),
        Column("embedding", Vector(), nullable=False),
    )
    Index(f"ix_{name}_workspace", table.c.model_id, table.c.workspace)
    return table


def item_backlog_table(name: str, *, items: str) -> Table:
    """The items that wait for a vector."""
    table = Table(
        name,
        metadata,
        Column("item_id", BigInteger, ForeignKey(f"{items}.id", ondelete="CASCADE"), primary_key=True),
        Column("workspace", Text, nullable=False),
        Column("attempts", SmallInteger, nullable=False, server_default="0"),
        Column("available_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
        Column("failed", Boolean, nullable=False, server_default=text("false")),
        Column("reason", Text),
    )
    Index(f"ix_{name}_workspace", table.c.workspace)
    Index(f"ix_{name}_available_at", table.c.available_at, postgresql_where=text("not failed"))
    return table


memory_items = items_table("memory_items", kind="fact")
memory_embeddings = item_embeddings_table("memory_embeddings", items="memory_items")
memory_backlog = item_backlog_table("memory_backlog", items="memory_items")

history_turns = items_table("history_turns", kind="turn")
history_embeddings = item_embeddings_table("history_embeddings", items="history_turns")
history_backlog = item_backlog_table("history_backlog", items="history_turns")

item_name_key = Table(
    "item_name_key", metadata, Column("key", Uuid, primary_key=True, server_default=func.gen_random_uuid())
)

document_embeddings = Table(
    "document_embeddings",
    metadata,
    Column("document_id", Uuid, ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("model_id", SmallInteger, ForeignKey("embedding_models.id"), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("embedding", Vector(), nullable=False),
)
Index("ix_document_embeddings_workspace", document_embeddings.c.model_id, document_embeddings.c.workspace)

# kept by the triggers of migration 008 from the rows of bm25_chunks
document_terms = Table(
    "document_terms",
    metadata,
    Column("document_id", Uuid, ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("length", Integer, nullable=False),
    Column("terms", ARRAY(Integer), nullable=False),
)
Index(
    "ix_document_terms_impacts",
    func.bm25_impacts(document_terms.c.terms, document_terms.c.length),
    postgresql_using="gin",
    postgresql_with={"fastupdate": "off"},
)
Index(
    "ix_document_terms_workspace_document_id",
    document_terms.c.workspace,
    document_terms.c.document_id,
    postgresql_include=["length"],
)
