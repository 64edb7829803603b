"""Text recognition (OCR): the scanned pages of documents, which are the queue and the results; marks of passages."""

from __future__ import annotations

from alembic import op

revision = "020"
down_revision = "019"
branch_labels = None
depends_on = None

NAMED = "(SELECT current_setting('ragcorp.workspace', true))"


def upgrade() -> None:
    op.execute("ALTER TABLE chunks ADD COLUMN recognition_confidence real")
    op.execute("""
        CREATE TABLE scanned_pages (
            document_id  uuid CONSTRAINT fk_scanned_pages_document_id REFERENCES documents (id) ON DELETE CASCADE,
            page         integer,
            workspace    text NOT NULL,
            source_hash  bytea NOT NULL,
            text         text,
            confidence   real,
            indexed      boolean NOT NULL DEFAULT false,
            attempts     smallint NOT NULL DEFAULT 0,
            available_at timestamptz NOT NULL DEFAULT now(),
            failed       boolean NOT NULL DEFAULT false,
            reason       text,
            CONSTRAINT pk_scanned_pages PRIMARY KEY (document_id, page)
        )
    """)
    op.execute("""
        CREATE INDEX ix_scanned_pages_available_at ON scanned_pages (((page - 1) / 25), available_at)
            WHERE text IS NULL AND NOT failed
    """)
    op.execute("CREATE INDEX ix_scanned_pages_text ON scanned_pages (document_id) WHERE text <> '' AND NOT indexed")
    op.execute("CREATE INDEX ix_scanned_pages_workspace ON scanned_pages (workspace)")
    op.execute(f"CREATE POLICY of_workspace ON scanned_pages USING (workspace = {NAMED} OR {NAMED} = '*')")
    op.execute("ALTER TABLE scanned_pages ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")


def downgrade() -> None:
    op.execute("DROP TABLE scanned_pages")
    op.execute("ALTER TABLE chunks DROP COLUMN recognition_confidence")
