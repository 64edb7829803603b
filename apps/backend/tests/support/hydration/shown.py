"""A turn of an episode that shows given texts."""

from __future__ import annotations

from dataclasses import replace

from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.structure.entities import EntityText
from ragcorp.domain.structure.hydration import HydratedEntity, Hydration, HydrationLimits, HydrationUse, PlannedEntity
from support.hydration.in_memory import ref


def hydrated(key: str, content: str, *, line: int, cut: bool = False) -> HydratedEntity:
    return HydratedEntity(
        planned=PlannedEntity(
            entity=replace(ref(key), line_start=line, line_end=line),
            reasons=("anchor:explicit_file_mention",),
            priority=100,
            tokens=1,
            position=1,
            cut=cut,
        ),
        text=EntityText(
            content=content,
            head="the head",
            artifact_hash=b"",
            title="Auth",
            language="en",
            sensitivity=Sensitivity.CONFIDENTIAL,
            chunk_id="7",
        ),
    )


def turn(*entities: HydratedEntity) -> Hydration:
    return Hydration(
        episode_id="e", turn=1, entities=entities, dropped=(), warnings=(), use=HydrationUse(limits=HydrationLimits())
    )
