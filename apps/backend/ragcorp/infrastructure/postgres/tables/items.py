"""Tables of memory and history items, and of whole documents as a collection."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSVECTOR

from ragcorp.infrastructure.postgres.tables import columns
from ragcorp.infrastructure.postgres.tables.columns import gin_index, metadata, required
from ragcorp.infrastructure.postgres.tables.documents import documents


def items_table(name: str, *, kind: str) -> sa.Table:
    """Return the table of a collection's items. A trigger sets ``lexemes``, ``length``, ``terms`` (migration 008)."""
    table = sa.Table(
        name,
        metadata,
        *columns.external_identity(),
        *required(sa.Text, "text"),
        *columns.filter_columns(kind=kind, dated=True),
        sa.Column("session", sa.Text),
        sa.Column("speaker", sa.Text),
        columns.array("entities"),
        columns.metadata_column(),
        *required(sa.LargeBinary, "content_hash"),
        *columns.timestamps(),
        *required(TSVECTOR, "lexemes"),
        *required(sa.Integer, "length"),
        *required(sa.ARRAY(sa.Integer), "terms"),
    )
    gin_index(f"ix_{name}_metadata", table.c.metadata, operators="jsonb_path_ops")
    gin_index(f"ix_{name}_impacts", sa.func.bm25_impacts(table.c.terms, table.c.length), fastupdate="off")
    for other in ("occurred_at", "session", "content_hash"):
        sa.Index(f"ix_{name}_workspace_{other}", table.c.workspace, table.c[other])
    sa.Index(
        f"ix_{name}_workspace_id",
        table.c.workspace,
        table.c.id,
        postgresql_include=["length", "sensitivity", "visibility_scope", "owner"],
    )
    return table


memory_items = items_table("memory_items", kind="fact")
columns.vectors_table("memory_embeddings", "item_id", of=memory_items)
columns.backlog_table("memory_backlog", "item_id", of=memory_items)

history_turns = items_table("history_turns", kind="turn")
columns.vectors_table("history_embeddings", "item_id", of=history_turns)
columns.backlog_table("history_backlog", "item_id", of=history_turns)

sa.Table(
    "item_name_key", metadata, sa.Column("key", sa.Uuid, primary_key=True, server_default=sa.func.gen_random_uuid())
)

columns.vectors_table("document_embeddings", "document_id", of=documents)

# kept by the triggers of migration 008 from the rows of bm25_chunks
document_terms = sa.Table(
    "document_terms",
    metadata,
    columns.cascading("document_id", "documents.id", primary_key=True),
    *required(sa.Text, "workspace"),
    *required(sa.Integer, "length"),
    *required(sa.ARRAY(sa.Integer), "terms"),
)
gin_index(
    "ix_document_terms_impacts", sa.func.bm25_impacts(document_terms.c.terms, document_terms.c.length), fastupdate="off"
)
sa.Index(
    "ix_document_terms_workspace_document_id",
    document_terms.c.workspace,
    document_terms.c.document_id,
    postgresql_include=["length"],
)
