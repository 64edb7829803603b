"""Row-level security: a session sees the rows of the workspace that its transaction names, and of no other (ADR-043).

Indexes over a path's key use one function instead of an expression: ``path_key`` can be declared LEAKPROOF, a cast
cannot, and an index condition under a policy needs that. They are built before the policies, which come in one
transaction with the revision: interrupted, the database is as the version before needs it. Everything may run again, as
an earlier form of this file left policies behind when it was interrupted.
"""

from __future__ import annotations

from alembic import op

from ragcorp.infrastructure.postgres.connections.indexes import create_index_concurrently, drop_index_concurrently

revision = "016"
down_revision = "015"
branch_labels = None
depends_on = None

NAMED = "(SELECT current_setting('ragcorp.workspace', true))"
"""Subqueries, so that each is evaluated once a statement, and not once a row."""

EVERY = f"{NAMED} = '*'"

BY_COLUMN = (
    "api_keys",
    "bm25_workspaces",
    "chunk_embeddings",
    "chunk_languages",
    "chunks",
    "default_languages",
    "document_embeddings",
    "document_terms",
    "documents",
    "embedding_backlog",
    "embedding_cache",
    "entities",
    "entity_backlog",
    "entity_embeddings",
    "episodes",
    "extracted_chunks",
    "fact_extractions",
    "facts",
    "folder_files",
    "history_backlog",
    "history_embeddings",
    "history_turns",
    "idempotent_requests",
    "lexicon",
    "lexicon_progress",
    "memory_backlog",
    "memory_embeddings",
    "memory_items",
    "structural_entities",
    "structural_entity_backlog",
    "structural_entity_embeddings",
    "structured_documents",
    "token_usage",
    "workspace_means",
)

BY_NUMBER = ("bm25_changes", "bm25_chunks", "bm25_statistics")

BY_PARENT = {
    "document_sources": "EXISTS (SELECT FROM documents d WHERE d.id = document_id)",
    "hydration_turns": "EXISTS (SELECT FROM episodes e WHERE e.id = episode)",
    "hydrated_entities": "EXISTS (SELECT FROM hydration_turns t WHERE t.id = turn_id)",
}
"""What stands in the subquery is read under the policy of its own table."""

POLICIES = (
    dict.fromkeys(BY_COLUMN, f"workspace = {NAMED}")
    | dict.fromkeys(BY_NUMBER, f"workspace_id = (SELECT w.id FROM bm25_workspaces w WHERE w.workspace = {NAMED})")
    | BY_PARENT
)

PATH_KEY = """
    CREATE OR REPLACE FUNCTION path_key(path text) RETURNS uuid LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
    BEGIN
        RETURN md5(public.plain_path(path))::uuid;
    END $$
"""
"""Not in SQL: it would be inlined, and an index condition is LEAKPROOF only if every function in it is."""

PATH_INDEX = "ix_documents_workspace_path_key"
ID_INDEX = "ix_documents_workspace_external_id_key"
PLAIN_PATH_INDEX = "ix_documents_workspace_plain_path"
PLAIN_ID_INDEX = "ix_documents_workspace_plain_external_id"
ELSEWHERE = "WHERE path IS DISTINCT FROM external_id"


def upgrade() -> None:
    op.execute(PATH_KEY)
    with op.get_context().autocommit_block():
        connection = op.get_bind()
        create_index_concurrently(connection, PATH_INDEX, "ON documents (workspace, path_key(path))")
        create_index_concurrently(connection, ID_INDEX, f"ON documents (workspace, path_key(external_id)) {ELSEWHERE}")
        drop_index_concurrently(connection, PLAIN_PATH_INDEX)
        drop_index_concurrently(connection, PLAIN_ID_INDEX)
    for table, condition in POLICIES.items():
        op.execute(f"DROP POLICY IF EXISTS of_workspace ON {table}")
        op.execute(f"CREATE POLICY of_workspace ON {table} USING ({condition} OR {EVERY})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")


def downgrade() -> None:
    with op.get_context().autocommit_block():
        connection = op.get_bind()
        create_index_concurrently(
            connection, PLAIN_PATH_INDEX, "ON documents (workspace, (md5(plain_path(path))::uuid))"
        )
        create_index_concurrently(
            connection, PLAIN_ID_INDEX, f"ON documents (workspace, (md5(plain_path(external_id))::uuid)) {ELSEWHERE}"
        )
        drop_index_concurrently(connection, PATH_INDEX)
        drop_index_concurrently(connection, ID_INDEX)
    op.execute("DROP FUNCTION path_key(text)")
    for table in POLICIES:
        op.execute(f"DROP POLICY of_workspace ON {table}")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY")
