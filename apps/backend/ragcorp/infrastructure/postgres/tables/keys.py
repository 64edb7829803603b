"""Tables of API keys: the keys, the secret of their digests and the tokens that they used."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    ForeignKey,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    func,
    text,
)

from ragcorp.infrastructure.postgres.tables.documents import metadata

key_secret = Table(
    "key_secret",
    metadata,
    Column("single", Boolean, primary_key=True, server_default=text("true")),
    Column("secret", LargeBinary, nullable=False),
    CheckConstraint("single", name="single"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text(collation="C"), primary_key=True),
    Column("workspace", Text, nullable=False, index=False),
    Column("name", Text, nullable=False, server_default=""),
    Column("subject", Text, nullable=False),
    Column("groups", ARRAY(Text), nullable=False, server_default="{}"),
    Column("clearance", SmallInteger, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    Column("last_used_at", DateTime(timezone=True)),
)

token_usage = Table(
    "token_usage",
    metadata,
    Column("workspace", Text, nullable=False),
    Column("key_id", Text(collation="C"), ForeignKey("api_keys.id", ondelete="CASCADE"), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("tokens", BigInteger, nullable=False),
)
