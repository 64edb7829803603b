"""The use case HydrateEpisode with parts in memory, for tests, and how they look at what it made."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ragcorp.application.hydration.hydrate import HydrateEpisode, HydrationOptions
from ragcorp.application.resilience.circuit_breaker import CircuitBreaker
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.hydration import Hydration, HydrationLimits, WarningCode
from support.hydration.in_memory import (
    Faults,
    Kept,
    MemoryEpisodes,
    MemoryFrequencies,
    MemoryIndex,
    MemoryKeywords,
    ref,
)
from support.models.embedders import HashingEmbedder

ANN = Principal(subject="ann")
BEN = Principal(subject="ben")
DOWN = StorageUnavailableError("out", reason="connection_lost")
NEVER = 0.05
"""Seconds that a part has which is never answered."""

FIX = "Fix the authentication bug in auth.go"

VALIDATE = ref("auth.go::ValidateToken", 100, position=0)
LOGIN = ref("auth.go::Login", 100, position=1)
SIGN = ref("token.go::SignToken", 100)
CHARGE = ref("pay.go::ChargeCard", 100)
COOK = ref("menu.go::CookSoup", 100)


def stored() -> MemoryIndex:
    """Two functions of auth.go, one that is much like the query, one just above .7, one at .7 and one below."""
    return MemoryIndex(
        Kept(entity=VALIDATE, score=0.99, calls=("symbol:signtoken",)),
        Kept(entity=LOGIN, score=0.95),
        Kept(entity=SIGN, score=0.852),
        Kept(entity=CHARGE, score=0.701),
        Kept(entity=ref("log.go::WriteLine", 100), score=0.7),
        Kept(entity=COOK, score=0.2),
    )


class GatedEmbedder(HashingEmbedder):
    """Waits and fails as its faults say."""

    def __init__(self) -> None:
        super().__init__()
        self.faults = Faults()

    async def embed_query(self, text: str) -> Vector:
        await self.faults.strike("embed_query")
        return await super().embed_query(text)


@dataclass
class World:
    """The use case and its parts."""

    index: MemoryIndex = field(default_factory=stored)
    episodes: MemoryEpisodes = field(default_factory=MemoryEpisodes)
    embedder: HashingEmbedder = field(default_factory=GatedEmbedder)
    keywords: MemoryKeywords = field(default_factory=MemoryKeywords)
    frequencies: MemoryFrequencies = field(default_factory=MemoryFrequencies)
    options: HydrationOptions = field(default_factory=HydrationOptions)

    principal: Principal = ANN

    @property
    def hydrate(self) -> HydrateEpisode:
        return self.hydrate_with(None)

    def hydrate_with(self, breaker: CircuitBreaker | None) -> HydrateEpisode:
        episodes: Any = self.episodes
        return HydrateEpisode(
            index=self.index,
            episodes=episodes,
            embedder=self.embedder,
            keywords=self.keywords,
            frequencies=self.frequencies,
            options=self.options,
            breaker=breaker,
        )

    @property
    def calls(self) -> Counter[str]:
        parts: Sequence[Any] = (self.index, self.episodes, self.keywords, self.frequencies)
        return sum((part.faults.calls for part in parts), Counter())

    async def turn(self, query: str, *, principal: Principal = ANN, episode_id: str = "e", **given: Any) -> Hydration:
        hydrate = self.hydrate
        prepared = await hydrate.prepare(query, episode_id=episode_id, principal=principal, **given)
        return await hydrate.record(prepared, query=query, principal=principal)


async def happened(event: asyncio.Event) -> None:
    """Wait for what must happen; a test that waits in vain fails."""
    async with asyncio.timeout(10):
        await event.wait()


def keys(hydration: Hydration) -> list[str]:
    return [item.planned.entity.key for item in hydration.entities]


def reasons(hydration: Hydration) -> dict[str, tuple[str, ...]]:
    return {item.planned.entity.key: item.planned.reasons for item in hydration.entities}


def codes(hydration: Hydration) -> list[WarningCode]:
    return [warning.code for warning in hydration.warnings]


def out(hydration: Hydration) -> dict[str, str | None]:
    return {report.source: report.reason for report in hydration.reports}


def with_limits(**limits: int) -> HydrationOptions:
    return HydrationOptions(limits=HydrationLimits(**limits))
