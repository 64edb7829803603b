"""Keys of the service, what they used, and answers to requests that are repeated (ADR-042, ADR-044)."""

from __future__ import annotations

from alembic import op

revision = "015"
down_revision = "014"
branch_labels = None
depends_on = None

TABLES = """
    CREATE TABLE key_secret (
        single boolean NOT NULL DEFAULT true CONSTRAINT pk_key_secret PRIMARY KEY
            CONSTRAINT ck_key_secret_single CHECK (single),
        secret bytea NOT NULL
    );
    INSERT INTO key_secret (secret)
    VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
    CREATE TABLE api_keys (
        id           text COLLATE "C" NOT NULL CONSTRAINT pk_api_keys PRIMARY KEY,
        workspace    text NOT NULL,
        name         text NOT NULL DEFAULT '',
        subject      text NOT NULL,
        groups       text[] NOT NULL DEFAULT '{}',
        clearance    smallint NOT NULL,
        scopes       text[] NOT NULL,
        digest       bytea NOT NULL,
        created_at   timestamptz NOT NULL DEFAULT now(),
        expires_at   timestamptz,
        revoked_at   timestamptz,
        last_used_at timestamptz
    );
    CREATE TABLE token_usage (
        workspace text NOT NULL,
        key_id    text COLLATE "C" NOT NULL
            CONSTRAINT fk_token_usage_key_id REFERENCES api_keys (id) ON DELETE CASCADE,
        day       date NOT NULL,
        tokens    bigint NOT NULL,
        CONSTRAINT pk_token_usage PRIMARY KEY (key_id, day)
    );
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
    CREATE INDEX ix_idempotent_requests_created_at ON idempotent_requests (created_at)
"""


def upgrade() -> None:
    for statement in TABLES.split(";"):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE idempotent_requests, token_usage, api_keys, key_secret")
