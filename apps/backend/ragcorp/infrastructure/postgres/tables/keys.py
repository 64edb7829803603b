"""Tables of API keys: the keys, the secret of their digests and the tokens that they used."""

import sqlalchemy as sa

from ragcorp.infrastructure.postgres.tables.columns import metadata

key_secret = sa.Table(
    "key_secret",
    metadata,
    sa.Column("single", sa.Boolean, primary_key=True, server_default=sa.text("true")),
    sa.Column("secret", sa.LargeBinary, nullable=False),
    sa.CheckConstraint("single", name="single"),
)

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.Text(collation="C"), primary_key=True),
    sa.Column("workspace", sa.Text, nullable=False, index=False),
    sa.Column("name", sa.Text, nullable=False, server_default=""),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("groups", sa.ARRAY(sa.Text), nullable=False, server_default="{}"),
    sa.Column("clearance", sa.SmallInteger, nullable=False),
    sa.Column("scopes", sa.ARRAY(sa.Text), nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Column("expires_at", sa.DateTime(timezone=True)),
    sa.Column("revoked_at", sa.DateTime(timezone=True)),
    sa.Column("last_used_at", sa.DateTime(timezone=True)),
)

token_usage = sa.Table(
    "token_usage",
    metadata,
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("key_id", sa.Text(collation="C"), sa.ForeignKey("api_keys.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("tokens", sa.BigInteger, nullable=False),
)
