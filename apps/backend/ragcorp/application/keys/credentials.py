"""Format of credentials, ``<id>.<secret>``, and their stored digests."""

import hmac
import re
from collections.abc import Callable

from ragcorp.domain.ports.keys import KeyStore

ID_PREFIX = "rk_"
ID_CHARACTERS = "abcdefghijklmnopqrstuvwxyz234567"
ID_LENGTH = 16
SECRET_BYTES = 32

KEY_ID = re.compile(f"{ID_PREFIX}[a-z2-7]{{{ID_LENGTH}}}")
CREDENTIAL = re.compile(rf"({KEY_ID.pattern})\.[A-Za-z0-9_-]{{43}}")

RandomBytes = Callable[[int], bytes]


def make_key_id(random: bytes) -> str:
    """Return the id of a new key from ``ID_LENGTH`` random bytes."""
    return ID_PREFIX + "".join(ID_CHARACTERS[byte % len(ID_CHARACTERS)] for byte in random)


def key_id_of(credential: str) -> str | None:
    """Return the id of a credential, None for another format."""
    match = CREDENTIAL.fullmatch(credential)
    return match[1] if match else None


class CredentialDigests:
    """HMAC-SHA256 of whole credentials, ids included, under the operator's ``secret`` or else the database's."""

    def __init__(self, *, store: KeyStore, secret: str = "") -> None:
        self._store = store
        self._secret = secret.encode()

    async def of(self, credential: str) -> bytes:
        """Raises StorageUnavailableError if the database's secret cannot be read."""
        if not self._secret:
            self._secret = await self._store.secret()
        return hmac.digest(self._secret, credential.encode(), "sha256")
