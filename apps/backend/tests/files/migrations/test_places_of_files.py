"""Migration 013 on a database with rows, and what it finds of documents that were there before."""

from __future__ import annotations

import pytest
from alembic import command

from ragcorp.infrastructure.postgres.administration.migrations import alembic_config
from support.storage.migrations import MODEL, connected, fill, one
from support.storage.schema import require_schema

INDEXES = "SELECT string_agg(indexname, ' ' ORDER BY indexname) FROM pg_indexes WHERE indexname ~ 'path|plain|relative'"


@pytest.mark.anyio
async def test_up_check_down_up(owner_dsn: str) -> None:
    await fill(owner_dsn)
    config = alembic_config(owner_dsn, embedding_model=MODEL)
    require_schema(owner_dsn)
    command.downgrade(config, "012")
    assert one(owner_dsn, "SELECT to_regproc('plain_path') IS NULL")
    assert one(owner_dsn, INDEXES) == "ix_documents_workspace_path"
    with connected(owner_dsn) as connection:
        connection.execute("UPDATE documents SET path = 'file:///srv//docs/' || external_id")
    command.upgrade(config, "013")
    assert one(owner_dsn, INDEXES) == (
        "ix_documents_workspace_plain_external_id ix_documents_workspace_plain_path ix_folder_files_relative"
    )
    command.upgrade(config, "head")
    require_schema(owner_dsn)
    assert one(owner_dsn, "SELECT count(*) FROM documents WHERE plain_path(path) = 'srv/docs/' || external_id") == 5
