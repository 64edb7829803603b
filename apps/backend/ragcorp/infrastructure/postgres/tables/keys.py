"""Tables of API keys: the keys, the secret of their digests and the tokens that they used."""

import sqlalchemy as sa

from ragcorp.infrastructure.postgres.tables.columns import array, cascading, metadata, moment, required, text

sa.Table(
    "key_secret",
    metadata,
    sa.Column("single", sa.Boolean, primary_key=True, server_default=sa.text("true")),
    *required(sa.LargeBinary, "secret"),
    sa.CheckConstraint("single", name="single"),
)

sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.Text(collation="C"), primary_key=True),
    *required(sa.Text, "workspace", "subject"),
    text("name"),
    array("groups"),
    *required(sa.SmallInteger, "clearance"),
    *required(sa.ARRAY(sa.Text), "scopes"),
    *required(sa.LargeBinary, "digest"),
    moment("created_at"),
    sa.Column("expires_at", sa.DateTime(timezone=True)),
    sa.Column("revoked_at", sa.DateTime(timezone=True)),
    sa.Column("last_used_at", sa.DateTime(timezone=True)),
)

sa.Table(
    "token_usage",
    metadata,
    *required(sa.Text, "workspace"),
    cascading("key_id", "api_keys.id", primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    *required(sa.BigInteger, "tokens"),
)
