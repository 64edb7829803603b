"""Documents by what their path leads to, however it is written, and what was stored from folders by its path there."""

from __future__ import annotations

from alembic import op

from ragcorp.infrastructure.postgres.connections.indexes import create_index_concurrently, drop_index_concurrently

revision = "013"
down_revision = "012"
branch_labels = None
depends_on = None

PATH_INDEX = "ix_documents_workspace_path"
PLAIN_PATH_INDEX = "ix_documents_workspace_plain_path"
PLAIN_ID_INDEX = "ix_documents_workspace_plain_external_id"
RELATIVE_INDEX = "ix_folder_files_relative"

PLAIN_PATH = r"""
    CREATE OR REPLACE FUNCTION plain_path(path text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN regexp_replace(
        regexp_replace(
            regexp_replace(
                translate(normalize(path, NFC), '\', '/'), '^file:(//localhost(?=/))?', '', 'i'),
            '/(\.?/)+', '/', 'g'),
        '^(\.?/)+', '')
"""
"""The path without ``file://``, ``./`` and doubled or leading slashes: ``file:///srv//a.md`` is ``srv/a.md``."""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(PLAIN_PATH)
    with op.get_context().autocommit_block():
        connection = op.get_bind()
        create_index_concurrently(
            connection, PLAIN_PATH_INDEX, "ON documents (workspace, (md5(plain_path(path))::uuid))"
        )
        create_index_concurrently(
            connection,
            PLAIN_ID_INDEX,
            "ON documents (workspace, (md5(plain_path(external_id))::uuid)) WHERE path IS DISTINCT FROM external_id",
        )
        create_index_concurrently(connection, RELATIVE_INDEX, "ON folder_files (workspace, relative, folder)")
        drop_index_concurrently(connection, PATH_INDEX)


def downgrade() -> None:
    with op.get_context().autocommit_block():
        connection = op.get_bind()
        create_index_concurrently(connection, PATH_INDEX, "ON documents (workspace, md5(path))")
        drop_index_concurrently(connection, RELATIVE_INDEX)
        drop_index_concurrently(connection, PLAIN_ID_INDEX)
        drop_index_concurrently(connection, PLAIN_PATH_INDEX)
    op.execute("DROP FUNCTION plain_path(text)")
