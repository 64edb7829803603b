"""The one shape of a hydration and of a recorded turn, for every interface alike."""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.domain.structure.hydration import (
    DroppedEntity,
    HydratedEntity,
    Hydration,
    HydrationUse,
    HydrationWarning,
    RecordedEntity,
    RecordedTurn,
)


def hydration_document(hydration: Hydration | None) -> dict[str, object] | None:
    """Return the JSON object of what a turn shows, with the field names of the REST contract."""
    if hydration is None:
        return None
    return {
        "episode_id": hydration.episode_id,
        "turn": hydration.turn,
        "entities": [_hydrated(entity) for entity in hydration.entities],
        "dropped": [_dropped(entity) for entity in hydration.dropped],
        "warnings": _warnings(hydration.warnings),
        "budget": _budget(hydration.use),
    }


def turn_document(turn: RecordedTurn) -> dict[str, object]:
    """Return the JSON object of a recorded turn."""
    return {
        "episode_id": turn.episode_id,
        "turn": turn.turn,
        "turns": turn.turns,
        "query": turn.query,
        "created_at": turn.created_at.isoformat(),
        "model": turn.model,
        "entities": [_recorded(entity) for entity in turn.entities],
        "dropped": [_recorded(entity) for entity in turn.dropped],
        "warnings": _warnings(turn.warnings),
        "budget": _budget(turn.use),
        "withheld": turn.withheld,
    }


def _hydrated(hydrated: HydratedEntity) -> dict[str, object]:
    planned, entity = hydrated.planned, hydrated.planned.entity
    return {
        "entity_key": entity.key,
        "kind": entity.kind.value,
        "name": entity.name,
        "path": entity.path,
        "document_id": str(entity.document_id),
        "external_id": entity.external_id,
        "reason": planned.reasons[0],
        "reasons": list(planned.reasons),
        "priority": planned.priority,
        "token_count": planned.tokens,
        "included_at": planned.position,
        "cut": planned.cut,
        "line_start": entity.line_start,
        "line_end": entity.line_end,
        "content": hydrated.shown,
    }


def _dropped(dropped: DroppedEntity) -> dict[str, object]:
    entity = dropped.entity
    return {
        "entity_key": entity.key,
        "kind": entity.kind.value,
        "path": entity.path,
        "document_id": str(entity.document_id),
        "external_id": entity.external_id,
        "reason": dropped.reasons[0],
        "reasons": list(dropped.reasons),
        "priority": dropped.priority,
        "token_count": dropped.tokens,
        "budget": dropped.budget.value,
    }


def _recorded(entity: RecordedEntity) -> dict[str, object]:
    told: dict[str, object] = {
        "entity_key": entity.identity.key,
        "kind": entity.kind,
        "path": entity.path,
        "document_id": str(entity.identity.document_id),
        "external_id": entity.external_id,
        "reason": entity.reasons[0],
        "reasons": list(entity.reasons),
        "priority": entity.priority,
        "token_count": entity.tokens,
    }
    if entity.budget is not None:
        return {**told, "budget": entity.budget.value}
    return {**told, "included_at": entity.position, "cut": entity.cut, "content": entity.content}


def _warnings(warnings: Sequence[HydrationWarning]) -> list[dict[str, object]]:
    return [{"code": warning.code.value, "message": warning.message, "entity_key": warning.key} for warning in warnings]


def _budget(use: HydrationUse) -> dict[str, object]:
    return {
        "max_tokens": use.limits.max_tokens,
        "used_tokens": use.tokens,
        "max_entities": use.limits.max_entities,
        "used_entities": use.entities,
        "semantic": {
            "max_tokens": use.limits.semantic_tokens,
            "used_tokens": use.semantic_tokens,
            "max_entities": use.limits.semantic_entities,
            "used_entities": use.semantic_entities,
        },
    }
