"""What a hydration looks like, in answers and when it is told again."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

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


class NamedEntity(BaseModel):
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
    reason: str = Field(description="The first of the reasons.")
    reasons: list[str]
    priority: int
    token_count: int


class DroppedAnchor(NamedEntity):
    """An anchor that did not fit, not even as its head."""

    budget: str = Field(description="`tokens` or `entities`: what it did not fit into.")


class RecordedEntityBody(NamedEntity):
    included_at: int = Field(description="Its place in what was shown, from 1.")
    cut: bool = Field(description="Whether only its signature and head were shown.")
    content: str | None = Field(
        description="The first 200 characters of what its document holds of it today; null where it holds it no longer."
    )


class HydratedEntityBody(NamedEntity):
    name: str
    included_at: int = Field(description="Its place in what is shown, from 1.")
    cut: bool = Field(description="Whether only its signature and head are shown.")
    line_start: int
    line_end: int
    content: str


class WarningBody(BaseModel):
    code: str = Field(
        description="`anchor_dropped`, `anchor_cut`, `ambiguous_mention`, `not_found`, `not_listed`, "
        "`no_semantic_candidates`, `structural_only` or `not_recorded`."
    )
    message: str
    entity_key: str | None


class SemanticBudget(BaseModel):
    max_tokens: int
    used_tokens: int
    max_entities: int
    used_entities: int


class BudgetBody(SemanticBudget):
    semantic: SemanticBudget


class HydrationBody(BaseModel):
    """What a turn of an episode shows: anchors first, then what is similar, within the budget."""

    episode_id: str
    turn: int | None = Field(description="From 1; null where the turn could not be recorded.")
    entities: list[HydratedEntityBody]
    dropped: list[DroppedAnchor]
    warnings: list[WarningBody]
    budget: BudgetBody


class HydrationTurnParameters(BaseModel):
    """Which turn, as a query parameter."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    turn: int | None = Field(None, ge=1, le=2**31 - 1, description="From 1; left out: the latest.")


class HydrationTurnBody(BaseModel):
    """A turn of an episode, as far as the caller may read its documents today."""

    model_config = ConfigDict(json_schema_extra={"examples": [TURN_EXAMPLE]})

    episode_id: str
    turn: int
    turns: int = Field(description="How many turns there were; the oldest may be gone.")
    query: str
    created_at: datetime
    model: str | None = Field(description="The embedding model of the similarities; null where none were asked.")
    entities: list[RecordedEntityBody]
    dropped: list[DroppedAnchor]
    warnings: list[WarningBody]
    budget: BudgetBody
    withheld: int = Field(description="Entities of documents that the caller may not read now, or that are deleted.")
