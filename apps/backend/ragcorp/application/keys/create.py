"""Use case: create a key."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ragcorp.application.keys.credentials import ID_LENGTH, SECRET_BYTES, CredentialDigests, RandomBytes, make_key_id
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.keys import ApiKey, Scope
from ragcorp.domain.ports.keys import KeyStore, StoredKey
from ragcorp.domain.principal import Principal, Sensitivity

MAX_NAME = 200
MAX_GROUPS = 100
MAX_DAYS = 36_500


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """Owner and permissions of a key. ``subject`` defaults to the key's id."""

    scopes: frozenset[Scope]
    workspace: str
    subject: str | None = None
    groups: frozenset[str] = frozenset()
    clearance: Sensitivity = Sensitivity.NORMAL
    name: str = ""
    expires_in_days: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedKey:
    """A new key with its ``credential``, which cannot be shown again."""

    key: ApiKey
    credential: str

    def __repr__(self) -> str:
        return f"CreatedKey(key={self.key!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateKey:
    """Makes a key; stores only its digest."""

    store: KeyStore
    digests: CredentialDigests
    random: RandomBytes
    now: Callable[[], datetime]

    async def create(self, request: KeyRequest) -> CreatedKey:
        """Raises InvalidInputError or StorageUnavailableError."""
        _check(request)
        key_id = make_key_id(self.random(ID_LENGTH))
        secret = base64.urlsafe_b64encode(self.random(SECRET_BYTES)).rstrip(b"=").decode()
        credential = f"{key_id}.{secret}"
        now = self.now()
        days = request.expires_in_days
        key = ApiKey(
            id=key_id,
            name=request.name,
            principal=Principal(
                workspace=request.workspace,
                subject=request.subject if request.subject is not None else key_id,
                groups=request.groups,
                clearance=request.clearance,
            ),
            scopes=request.scopes,
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
        )
        await self.store.add(StoredKey(key=key, digest=await self.digests.of(credential)))
        return CreatedKey(key=key, credential=credential)


def _check(request: KeyRequest) -> None:
    if not request.scopes:
        Scope.parse(())
    for field, value in (("name", request.name), ("subject", request.subject or "")):
        if len(value) > MAX_NAME or not value.isprintable():
            raise InvalidInputError(
                f"{field} is too long, or contains control characters.",
                field=field,
                limit=f"{MAX_NAME} printable characters",
                remedy="Choose a shorter, plain one.",
            )
    if len(request.groups) > MAX_GROUPS or not all(
        0 < len(group) <= MAX_NAME and group.isprintable() for group in request.groups
    ):
        raise InvalidInputError(
            "A group is empty, too long or contains control characters, or there are too many.",
            field="groups",
            limit=f"{MAX_GROUPS} groups of {MAX_NAME} printable characters",
            remedy="Name fewer, or shorter ones.",
        )
    days = request.expires_in_days
    if days is not None and not 0 < days <= MAX_DAYS:
        raise InvalidInputError.out_of_range(
            "expires_in_days", f"above 0, at most {MAX_DAYS}", remedy="Leave it out for a key without an end."
        )
