"""Documents by their path, and with each model the cosine distance from which its vectors say nothing."""

from __future__ import annotations

from alembic import op

from ragcorp.infrastructure.postgres.connections.indexes import create_index_concurrently, drop_index_concurrently
from ragcorp.infrastructure.postgres.models.embedding_models import store_measured

revision = "011"
down_revision = "010"
branch_labels = None
depends_on = None

PATH_INDEX = "ix_documents_workspace_path"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        create_index_concurrently(op.get_bind(), PATH_INDEX, "ON documents (workspace, md5(path))")
    op.execute("""
        ALTER TABLE embedding_models
            ADD COLUMN distance_threshold double precision
                CONSTRAINT ck_embedding_models_distance_threshold
                CHECK (distance_threshold > 0 AND distance_threshold <= 2)
    """)
    store_measured(op.get_bind(), "distance_threshold")


def downgrade() -> None:
    with op.get_context().autocommit_block():
        drop_index_concurrently(op.get_bind(), PATH_INDEX)
    op.execute("ALTER TABLE embedding_models DROP COLUMN distance_threshold")
