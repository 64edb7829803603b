"""Documents made of a file inside the file of another: an attachment of a mail, a member of an archive (ADR-055)."""

from __future__ import annotations

from alembic import op

revision = "019"
down_revision = "018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        ALTER TABLE documents ADD COLUMN part_of uuid
            CONSTRAINT fk_documents_part_of REFERENCES documents (id) ON DELETE CASCADE
    """)
    op.execute("CREATE INDEX ix_documents_part_of ON documents (part_of) WHERE part_of IS NOT NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE documents DROP COLUMN part_of")
