"""Drop the stored answers of repeated writes: a repeated write changes nothing by itself (ADR-050)."""

from __future__ import annotations

from alembic import op

revision = "017"
down_revision = "016"
branch_labels = None
depends_on = None

TABLE = """
    CREATE TABLE idempotent_requests (
        workspace       text NOT NULL,
        caller          text COLLATE "C" NOT NULL,
        idempotency_key text COLLATE "C" NOT NULL,
        fingerprint     bytea NOT NULL,
        created_at      timestamptz NOT NULL DEFAULT now(),
        status          smallint,
        headers         jsonb,
        body            bytea,
        CONSTRAINT pk_idempotent_requests PRIMARY KEY (workspace, caller, idempotency_key)
    );
    CREATE INDEX ix_idempotent_requests_created_at ON idempotent_requests (created_at);
    CREATE POLICY of_workspace ON idempotent_requests USING (
        workspace = (SELECT current_setting('ragcorp.workspace', true))
        OR (SELECT current_setting('ragcorp.workspace', true)) = '*'
    );
    ALTER TABLE idempotent_requests ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY
"""


def upgrade() -> None:
    op.execute("DROP TABLE idempotent_requests")


def downgrade() -> None:
    for statement in TABLE.split(";"):
        op.execute(statement)
