"""Callers by credential, without a database: an authenticator of the tests' own."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragcorp.domain.keys import EVERY_SCOPE, LOCAL_CALLER, Caller, UnauthenticatedError
from ragcorp.domain.principal import Principal


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


@dataclass
class KnownCallers:
    """Knows ``<id>.secret`` for every id in ``ids``; without a credential it is the local user, or nobody."""

    ids: tuple[str, ...] = ("one", "two")
    local: bool = True
    asked: list[str | None] = field(default_factory=list)

    async def caller(self, credential: str | None) -> Caller:
        self.asked.append(credential)
        if credential is None and self.local:
            return LOCAL_CALLER
        key_id, _, secret = (credential or "").partition(".")
        if key_id not in self.ids or secret != "secret":
            raise UnauthenticatedError
        return Caller(principal=Principal(), scopes=EVERY_SCOPE, key_id=key_id)
