"""Migration 012 on a database with rows: what is recorded of folders goes with it, the documents stay."""

from __future__ import annotations

import psycopg
import pytest
from alembic import command

from ragcorp.infrastructure.postgres.administration.migrations import alembic_config, migrate
from support.storage.migrations import MODEL, connected, fill, one
from support.storage.schema import require_schema

INSERT = """
    INSERT INTO folder_files (workspace, folder, external_id, relative, content_hashes)
    SELECT 'default', '\\x01', external_id, external_id, ARRAY[content_hash] FROM documents
"""


@pytest.mark.anyio
async def test_up_check_down_up(owner_dsn: str) -> None:
    await fill(owner_dsn)
    with connected(owner_dsn) as connection:
        connection.execute(INSERT)
    config = alembic_config(owner_dsn, embedding_model=MODEL)
    require_schema(owner_dsn)
    command.downgrade(config, "011")
    assert one(owner_dsn, "SELECT to_regclass('folder_files') IS NULL")
    assert one(owner_dsn, "SELECT count(*) FROM documents") == 5
    command.upgrade(config, "head")
    require_schema(owner_dsn)
    assert one(owner_dsn, "SELECT count(*) FROM folder_files") == 0


def test_the_application_role_may_do_what_it_needs(owner_dsn: str, dsn: str) -> None:
    migrate(owner_dsn, embedding_model=MODEL, application_dsn=dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute(INSERT)
        connection.execute("UPDATE folder_files SET settled = true")
        connection.execute("DELETE FROM folder_files")
