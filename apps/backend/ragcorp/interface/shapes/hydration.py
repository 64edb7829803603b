"""What a turn of an episode shows, now and as it was recorded."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from ragcorp.domain.structure.entities import EntityRef
from ragcorp.domain.structure.hydration import (
    DroppedEntity,
    HydratedEntity,
    Hydration,
    HydrationUse,
    HydrationWarning,
    PlannedEntity,
    RecordedEntity,
    RecordedTurn,
)

TURN_EXAMPLE: dict[str, Any] = {
    "episode_id": "auth-bug-17",
    "turn": 1,
    "turns": 1,
    "query": "Fix the authentication bug in auth.go",
    "created_at": "2026-11-28T09:30:00+00:00",
    "model": "multilingual-e5-small",
    "entities": [
        {
            "entity_key": "auth.go::validateToken",
            "kind": "function",
            "path": "auth.go",
            "document_id": "0199a1c2-7d3e-7a55-9c1b-2f6f0d1e8a10",
            "external_id": "auth.go",
            "reason": "anchor:explicit_file_mention",
            "reasons": ["anchor:explicit_file_mention"],
            "priority": 100,
            "token_count": 61,
            "included_at": 1,
            "cut": False,
            "content": "func validateToken(token string) error {",
        }
    ],
    "dropped": [],
    "warnings": [],
    "budget": {
        "max_tokens": 8000,
        "used_tokens": 61,
        "max_entities": 20,
        "used_entities": 1,
        "semantic": {"max_tokens": 4000, "used_tokens": 0, "max_entities": 10, "used_entities": 0},
    },
    "withheld": 0,
}


class NamedEntity(TypedDict):
    """An entity of a document, and why it was taken.

    A reason is `anchor:` with what anchors it (`explicit_file_mention` and other mentions, `probable_file_mention`,
    `hydrated_previous_turn`, `ast_calls`, `ast_called_by`, `ast_same_file`), or `semantic:` with its similarity, or
    `keyword:` with its share of the query's evidence.
    """

    entity_key: str
    kind: str
    path: str
    document_id: UUID
    external_id: str
    reason: Annotated[str, Field(description="The first of the reasons.")]
    reasons: Sequence[str]
    priority: int
    token_count: int


class DroppedAnchor(NamedEntity):
    """An anchor that did not fit, not even as its head."""

    budget: Annotated[str, Field(description="`tokens` or `entities`: what it did not fit into.")]


class RecordedEntityBody(NamedEntity):
    included_at: Annotated[int, Field(description="Its place in what was shown, from 1.")]
    cut: Annotated[bool, Field(description="Whether only its signature and head were shown.")]
    content: Annotated[
        str | None,
        Field(
            description="The first 200 characters of what its document holds of it today; null where it holds it no "
            "longer."
        ),
    ]


class HydratedEntityBody(NamedEntity):
    name: str
    included_at: Annotated[int, Field(description="Its place in what is shown, from 1.")]
    cut: Annotated[bool, Field(description="Whether only its signature and head are shown.")]
    line_start: int
    line_end: int
    content: str


class WarningBody(TypedDict):
    code: Annotated[
        str,
        Field(
            description="`anchor_dropped`, `anchor_cut`, `ambiguous_mention`, `not_found`, `not_listed`, "
            "`no_semantic_candidates`, `structural_only` or `not_recorded`."
        ),
    ]
    message: str
    entity_key: str | None


class SemanticBudget(TypedDict):
    max_tokens: int
    used_tokens: int
    max_entities: int
    used_entities: int


class BudgetBody(SemanticBudget):
    semantic: SemanticBudget


class HydrationBody(TypedDict):
    """What a turn of an episode shows: anchors first, then what is similar, within the budget."""

    episode_id: str
    turn: Annotated[int | None, Field(description="From 1; null where the turn could not be recorded.")]
    entities: list[HydratedEntityBody]
    dropped: list[DroppedAnchor]
    warnings: list[WarningBody]
    budget: BudgetBody


@with_config(ConfigDict(json_schema_extra={"examples": [TURN_EXAMPLE]}))
class HydrationTurnBody(TypedDict):
    """A turn of an episode, as far as the caller may read its documents today."""

    episode_id: str
    turn: int
    turns: Annotated[int, Field(description="How many turns there were; the oldest may be gone.")]
    query: str
    created_at: datetime
    model: Annotated[
        str | None, Field(description="The embedding model of the similarities; null where none were asked.")
    ]
    entities: list[RecordedEntityBody]
    dropped: list[DroppedAnchor]
    warnings: list[WarningBody]
    budget: BudgetBody
    withheld: Annotated[
        int, Field(description="Entities of documents that the caller may not read now, or that are deleted.")
    ]


def hydration_document(hydration: Hydration | None) -> HydrationBody | None:
    if hydration is None:
        return None
    return {
        "episode_id": hydration.episode_id,
        "turn": hydration.turn,
        "entities": [_hydrated(entity) for entity in hydration.entities],
        "dropped": [
            {
                **_named(dropped, dropped.entity.key, dropped.entity, dropped.entity.document_id),
                "budget": dropped.budget,
            }
            for dropped in hydration.dropped
        ],
        "warnings": _warnings(hydration.warnings),
        "budget": _budget(hydration.use),
    }


def turn_document(turn: RecordedTurn) -> HydrationTurnBody:
    return {
        "episode_id": turn.episode_id,
        "turn": turn.turn,
        "turns": turn.turns,
        "query": turn.query,
        "created_at": turn.created_at,
        "model": turn.model,
        "entities": [
            {**_recorded(entity), "included_at": entity.position, "cut": entity.cut, "content": entity.content}
            for entity in turn.entities
        ],
        "dropped": [{**_recorded(entity), "budget": entity.budget} for entity in turn.dropped if entity.budget],
        "warnings": _warnings(turn.warnings),
        "budget": _budget(turn.use),
        "withheld": turn.withheld,
    }


def _hydrated(hydrated: HydratedEntity) -> HydratedEntityBody:
    planned, entity = hydrated.planned, hydrated.planned.entity
    return {
        **_named(planned, entity.key, entity, entity.document_id),
        "name": entity.name,
        "included_at": planned.position,
        "cut": planned.cut,
        "line_start": entity.line_start,
        "line_end": entity.line_end,
        "content": hydrated.shown,
    }


def _recorded(entity: RecordedEntity) -> NamedEntity:
    return _named(entity, entity.identity.key, entity, entity.identity.document_id)


def _named(
    planned: PlannedEntity | DroppedEntity | RecordedEntity,
    key: str,
    entity: EntityRef | RecordedEntity,
    document_id: UUID,
) -> NamedEntity:
    return {
        "entity_key": key,
        "kind": entity.kind,
        "path": entity.path,
        "document_id": document_id,
        "external_id": entity.external_id,
        "reason": planned.reasons[0],
        "reasons": planned.reasons,
        "priority": planned.priority,
        "token_count": planned.tokens,
    }


def _warnings(warnings: Sequence[HydrationWarning]) -> list[WarningBody]:
    return [{"code": warning.code, "message": warning.message, "entity_key": warning.key} for warning in warnings]


def _budget(use: HydrationUse) -> BudgetBody:
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
