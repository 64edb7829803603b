"""Port of what keys use of language models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAccount:
    """Whose tokens are counted."""

    workspace: str
    key_id: str


class TokenUsageStore(Protocol):
    """Tokens by key and UTC day. Outages are a StorageUnavailableError."""

    async def used(self, account: TokenAccount, *, day: date) -> int: ...

    async def add(self, tokens: Mapping[tuple[TokenAccount, date], int]) -> None:
        """Add to what is stored; a key that was removed meanwhile is left out."""
        ...
