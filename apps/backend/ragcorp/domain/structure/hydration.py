"""Values of hydration: anchors, candidates, and the plan of what is shown within a budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from uuid import UUID

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.structure.entities import EntityIdentity, EntityRef, EntityText

MAX_EPISODE_ID = 200
SHOWN_CHARACTERS = 200
"""Characters of an entity's text in an introspection."""


class AnchorReason(StrEnum):
    EXPLICIT_FILE_MENTION = "explicit_file_mention"
    EXPLICIT_SYMBOL_MENTION = "explicit_symbol_mention"
    EXPLICIT_CLAUSE_MENTION = "explicit_clause_mention"
    EXPLICIT_HEADING_MENTION = "explicit_heading_mention"
    EXPLICIT_IDENTIFIER_MENTION = "explicit_identifier_mention"
    PROBABLE_FILE_MENTION = "probable_file_mention"
    HYDRATED_PREVIOUS_TURN = "hydrated_previous_turn"
    AST_CALLS = "ast_calls"
    AST_CALLED_BY = "ast_called_by"
    AST_SAME_FILE = "ast_same_file"


PRIORITIES: Mapping[AnchorReason, int] = MappingProxyType(
    {
        AnchorReason.EXPLICIT_FILE_MENTION: 100,
        AnchorReason.EXPLICIT_SYMBOL_MENTION: 90,
        AnchorReason.EXPLICIT_CLAUSE_MENTION: 90,
        AnchorReason.EXPLICIT_HEADING_MENTION: 90,
        AnchorReason.EXPLICIT_IDENTIFIER_MENTION: 90,
        AnchorReason.PROBABLE_FILE_MENTION: 85,
        AnchorReason.HYDRATED_PREVIOUS_TURN: 80,
        AnchorReason.AST_CALLS: 70,
        AnchorReason.AST_CALLED_BY: 65,
        AnchorReason.AST_SAME_FILE: 60,
    }
)
"""Anchors with a larger priority come first; a weak mention comes after every strong one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """An entity shown whatever its similarity. ``along``: the query names its file or container instead."""

    entity: EntityRef
    reasons: tuple[AnchorReason, ...]
    along: bool = False

    @property
    def priority(self) -> int:
        return PRIORITIES[self.reasons[0]]


class Channel(StrEnum):
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True, kw_only=True)
class HydrationCandidate:
    """An entity that may be shown where room is left: ``score`` in [0, 1], a cosine or a share of evidence."""

    entity: EntityRef
    score: float
    channel: Channel = Channel.SEMANTIC


@dataclass(frozen=True, slots=True, kw_only=True)
class HydrationLimits:
    """Limits of the whole, and of similar entities within it. Raises ConfigurationError for a negative number."""

    max_tokens: int = 8000
    max_entities: int = 20
    semantic_tokens: int = 4000
    semantic_entities: int = 10

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_entities", "semantic_tokens", "semantic_entities"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} is below zero.", field=name, limit="0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEntity:
    """A shown entity; ``cut``: only its head. Reasons: ``anchor:explicit_file_mention``, ``semantic:0.85``."""

    entity: EntityRef
    reasons: tuple[str, ...]
    priority: int
    tokens: int
    position: int
    cut: bool = False


class DropReason(StrEnum):
    """Which budget an anchor did not fit into."""

    TOKENS = "tokens"
    ENTITIES = "entities"


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedEntity:
    """An anchor that did not fit, not even as its head."""

    entity: EntityRef
    reasons: tuple[str, ...]
    priority: int
    tokens: int
    budget: DropReason


class WarningCode(StrEnum):
    ANCHOR_DROPPED = "anchor_dropped"
    ANCHOR_CUT = "anchor_cut"
    AMBIGUOUS_MENTION = "ambiguous_mention"
    NOT_FOUND = "not_found"
    NO_SEMANTIC_CANDIDATES = "no_semantic_candidates"
    STRUCTURAL_ONLY = "structural_only"
    NOT_RECORDED = "not_recorded"
    NOT_LISTED = "not_listed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HydrationWarning:
    """A warning on an entity, hidden from callers who may not read its document."""

    code: WarningCode
    message: str
    key: str | None = None
    document_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HydrationUse:
    """Use of the limits."""

    limits: HydrationLimits
    tokens: int = 0
    entities: int = 0
    semantic_tokens: int = 0
    semantic_entities: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HydrationPlan:
    """The shown entities in order, and the dropped ones."""

    entities: tuple[PlannedEntity, ...]
    dropped: tuple[DroppedEntity, ...]
    warnings: tuple[HydrationWarning, ...]
    use: HydrationUse


@dataclass(frozen=True, slots=True, kw_only=True)
class HydratedEntity:
    """A planned entity with its text: ``text.head`` is what is shown where it is cut."""

    planned: PlannedEntity
    text: EntityText

    @property
    def shown(self) -> str:
        return self.text.head if self.planned.cut else self.text.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Hydration:
    """The hydration of a turn (from 1; None if not recorded). ``model`` is set if similarities were computed."""

    episode_id: str
    use: HydrationUse
    turn: int | None = None
    entities: tuple[HydratedEntity, ...] = ()
    dropped: tuple[DroppedEntity, ...] = ()
    warnings: tuple[HydrationWarning, ...] = ()
    model: str | None = None
    reports: tuple[SourceReport, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEntity:
    """An entity of a recorded turn, with its current text up to SHOWN_CHARACTERS; ``budget`` if it was dropped."""

    identity: EntityIdentity
    kind: str
    path: str
    external_id: str
    reasons: tuple[str, ...]
    priority: int
    tokens: int
    position: int
    cut: bool
    content: str | None
    budget: DropReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    """One of the ``turns`` of an episode. ``withheld`` counts entities of deleted or unreadable documents."""

    episode_id: str
    turn: int
    turns: int
    query: str
    created_at: datetime
    model: str | None
    entities: tuple[RecordedEntity, ...]
    dropped: tuple[RecordedEntity, ...]
    warnings: tuple[HydrationWarning, ...]
    use: HydrationUse
    withheld: int
