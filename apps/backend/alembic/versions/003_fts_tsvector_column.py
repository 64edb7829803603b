"""Full-text column of the chunks, generated from their content, with its GIN index (ADR-012)."""

from __future__ import annotations

from alembic import op

from ragcorp.infrastructure.postgres.connections.indexes import create_index_concurrently, drop_index_concurrently

revision = "003"
down_revision = "002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        ALTER TABLE chunks ADD COLUMN IF NOT EXISTS tsv tsvector
            GENERATED ALWAYS AS (to_tsvector('spanish', coalesce(content, ''))) STORED
    """)
    with op.get_context().autocommit_block():
        create_index_concurrently(op.get_bind(), "ix_chunks_tsv", "ON chunks USING gin (tsv)")


def downgrade() -> None:
    with op.get_context().autocommit_block():
        drop_index_concurrently(op.get_bind(), "ix_chunks_tsv")
    op.execute("ALTER TABLE chunks DROP COLUMN IF EXISTS tsv")
