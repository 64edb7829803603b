"""What was stored from which folder: a watch deletes what was, and nothing else, and reads no file twice."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "012"
down_revision = "011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "folder_files",
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("folder", sa.LargeBinary, nullable=False),
        sa.Column("external_id", sa.String(collation="C"), nullable=False),
        sa.Column("relative", sa.String(collation="C"), nullable=False),
        sa.Column("content_hashes", sa.ARRAY(sa.LargeBinary), nullable=False),
        sa.Column("size", sa.BigInteger),
        sa.Column("mtime_ns", sa.BigInteger),
        sa.Column("ctime_ns", sa.BigInteger),
        sa.Column("settled", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("described", sa.LargeBinary, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("workspace", "folder", "external_id", name="pk_folder_files"),
    )
    op.create_index("ix_folder_files_external_id", "folder_files", ["workspace", "external_id"])


def downgrade() -> None:
    op.drop_table("folder_files")
