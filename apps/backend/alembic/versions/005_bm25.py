"""BM25 over the lexemes of the chunks: tables, functions and triggers, with what is stored already (ADR-025)."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "005"
down_revision = "004"
branch_labels = None
depends_on = None

DEFINITIONS = tuple(Path(__file__).with_name(f"005_bm25_{part}.sql") for part in ("postings", "plan", "upkeep"))

HAS_INTARRAY = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'intarray')"
MAY_ADD_INTARRAY = """
    SELECT EXISTS (SELECT FROM pg_available_extension_versions WHERE name = 'intarray' AND (trusted OR NOT superuser))
           AND has_database_privilege(current_database(), 'CREATE')
"""

COMMON = """
    CREATE FUNCTION bm25_common(terms integer[], wanted integer[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN {intersection}
"""
BY_INTARRAY = "terms & wanted"
BY_UNNEST = "ARRAY(SELECT posting FROM unnest(terms) AS posting WHERE posting = ANY (wanted) ORDER BY posting)"

INDEX_STORED_CHUNKS = """
    SELECT bm25_rebuild();
    CREATE INDEX ix_bm25_chunks_workspace_id ON bm25_chunks (workspace_id);
    CREATE INDEX ix_bm25_chunks_impacts ON bm25_chunks USING gin (bm25_impacts(terms, length))
        WITH (fastupdate = on, gin_pending_list_limit = 512)
"""

TABLES = ("bm25_changes", "bm25_statistics", "bm25_chunks", "bm25_workspaces")
FUNCTIONS = (
    "bm25_after_truncate", "bm25_after_update", "bm25_after_delete", "bm25_after_insert", "bm25_rebuild", "bm25_flush",
    "bm25_compact", "bm25_refresh", "bm25_needs_refresh", "bm25_plan", "bm25_guess", "bm25_cut", "lexeme_frequencies",
    "bm25_levels", "bm25_totals", "bm25_bounds", "bm25_common", "bm25_impacts", "bm25_level", "bm25_terms", "bm25_key",
)  # fmt: skip


def upgrade() -> None:
    """Writers of chunks wait from the triggers' creation to the end: a row that is missed here is never found."""
    connection = op.get_bind()
    with_intarray = bool(connection.exec_driver_sql(HAS_INTARRAY).scalar())
    if not with_intarray and connection.exec_driver_sql(MAY_ADD_INTARRAY).scalar():
        connection.exec_driver_sql("CREATE EXTENSION intarray")
        with_intarray = True
    for definitions in DEFINITIONS:
        connection.exec_driver_sql(definitions.read_text(encoding="utf-8"))
    connection.exec_driver_sql(COMMON.format(intersection=BY_INTARRAY if with_intarray else BY_UNNEST))
    connection.exec_driver_sql(INDEX_STORED_CHUNKS)


def downgrade() -> None:
    for name in ("bm25_insert", "bm25_delete", "bm25_update", "bm25_truncate"):
        op.execute(f"DROP TRIGGER {name} ON chunks")
    op.execute("DROP INDEX ix_bm25_chunks_impacts")
    for name in FUNCTIONS:
        op.execute(f"DROP FUNCTION {name}")
    for name in TABLES:
        op.execute(f"DROP TABLE {name}")
