"""Derives opaque names for items without one: equal content gets the same name."""

import hashlib
import hmac
from uuid import uuid4

from ragcorp.domain.collections import ItemDraft
from ragcorp.infrastructure.postgres.connections.database import DriverConnection

DIGITS = 32
ATTEMPTS = 4
"""Names derived from one content before a random one, which is certainly free."""

NAME_KEY = "SELECT key FROM item_name_key"


async def read_name_key(connection: DriverConnection) -> bytes:
    """Return the secret of this database, which never changes."""
    ((key,),) = await (await connection.execute(NAME_KEY)).fetchall()
    return bytes(key.bytes)


def item_name(draft: ItemDraft, *, key: bytes, attempt: int = 0) -> str:
    """Return the draft's external_id, or 32 hex digits: HMAC-SHA-256 of ``named_after`` and ``attempt``.

    Without the key nobody can derive a name. Otherwise the refusal of a derived name would reveal that a hidden item
    has the guessed text.
    """
    if draft.external_id is not None:
        return draft.external_id
    if draft.named_after is None or attempt >= ATTEMPTS:
        return uuid4().hex
    return hmac.new(key, f"{attempt} {draft.named_after}".encode(), hashlib.sha256).hexdigest()[:DIGITS]
