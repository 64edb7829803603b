"""Stored documents with entities, and turns of episodes that show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from ragcorp.domain.ports.episodes import EpisodeStore
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.structure.entities import DocumentStructure, EntityDraft, EntityKind, EntityRef, EntityText
from ragcorp.domain.structure.hydration import (
    DroppedEntity,
    DropReason,
    HydratedEntity,
    Hydration,
    HydrationLimits,
    HydrationUse,
    HydrationWarning,
    PlannedEntity,
)
from ragcorp.infrastructure.postgres.connections.database import Database
from support.hydration.in_memory import ref
from support.storage.postgres import repository_over
from support.storage.stored import ANYONE, written

USE = HydrationUse(limits=HydrationLimits(), tokens=7, entities=1, semantic_tokens=3, semantic_entities=1)


def draft(key: str, content: str, *, head: str | None = None) -> EntityDraft:
    return EntityDraft(
        key=key,
        kind=EntityKind.FUNCTION,
        name=key.rpartition("::")[2],
        names=(),
        container=None,
        language="go",
        content=content,
        head=content if head is None else head,
        token_count=10,
        head_tokens=5,
        line_start=1,
        line_end=1,
    )


async def store_entities(
    database: Database, path: str, entities: dict[str, str], *, principal: Principal = ANYONE, **attributes: Any
) -> UUID:
    """Store a document with one function an entry, by name and text; return its id."""
    structure = DocumentStructure(
        fingerprint="test",
        path=path,
        entities=tuple(draft(f"{path}::{name}", text, head=text[:40]) for name, text in entities.items()),
    )
    write = replace(written(path, *entities.values(), salt=repr(attributes), **attributes), structure=structure)
    (outcome,) = await (await repository_over(database)).save_many([write], principal=principal)
    return outcome.document_id


def shown(key: str, document_id: UUID, *, position: int = 1, cut: bool = False) -> HydratedEntity:
    return HydratedEntity(
        planned=PlannedEntity(
            entity=_ref(key, document_id),
            reasons=("anchor:explicit_file_mention",),
            priority=100,
            tokens=7,
            position=position,
            cut=cut,
        ),
        text=EntityText(
            content="",
            head="",
            artifact_hash=b"\x01" * 32,
            title="",
            language="en",
            sensitivity=Sensitivity.NORMAL,
            chunk_id=None,
        ),
    )


def left_out(key: str, document_id: UUID) -> DroppedEntity:
    return DroppedEntity(
        entity=_ref(key, document_id),
        reasons=("anchor:hydrated_previous_turn",),
        priority=80,
        tokens=9000,
        budget=DropReason.TOKENS,
    )


async def record(
    store: EpisodeStore,
    episode_id: str,
    *entities: HydratedEntity,
    principal: Principal = ANYONE,
    dropped: Sequence[DroppedEntity] = (),
    warnings: Sequence[HydrationWarning] = (),
    query: str = "Fix auth.go",
) -> int:
    hydration = Hydration(
        episode_id=episode_id,
        use=USE,
        entities=entities,
        dropped=tuple(dropped),
        warnings=tuple(warnings),
        model="test",
    )
    return await store.record(hydration, query=query, principal=principal)


def _ref(key: str, document_id: UUID) -> EntityRef:
    return replace(ref(key), document_id=document_id)
