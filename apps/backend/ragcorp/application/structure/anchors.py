"""Turns mentions and earlier entities into anchors: entities that are shown whatever their similarity. Pure.

``wanted_names`` returns the names to look up, ``mentioned_files`` the documents, ``resolve`` the entities whose parts
and neighbours are needed; ``anchors`` combines the lookups.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from ragcorp.application.structure.mentions.entities import (
    Evidence,
    MentionedEntities,
    MentionedEntity,
    mentioned_entities,
)
from ragcorp.application.structure.mentions.files import FILE_NAMES, MentionedFile, MentionedFiles
from ragcorp.application.structure.mentions.shapes import Mention
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.ports.structure import SyntaxNeighbours
from ragcorp.domain.structure.entities import CODE_KINDS, EntityIdentity, EntityKind, EntityRef
from ragcorp.domain.structure.hydration import PRIORITIES, Anchor, AnchorReason, HydrationWarning

MENTIONED = frozenset(reason for reason in AnchorReason if reason.value.startswith(("explicit", "probable")))
CONTAINERS = frozenset({EntityKind.CLASS, EntityKind.SECTION, EntityKind.CLAUSE, EntityKind.ARTICLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorOptions:
    """Enabled anchors, and the numbers of neighbours: by kind for a symbol, and in all. Raises ConfigurationError."""

    file_mentions: bool = True
    symbol_mentions: bool = True
    previous: bool = True
    calls: int = 3
    called_by: int = 3
    same_file: int = 2
    neighbours: int = 8

    def __post_init__(self) -> None:
        for name in ("calls", "called_by", "same_file", "neighbours"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} is below zero.", field=name, limit="0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The files and entities that the mentions resolve to."""

    files: tuple[MentionedFile, ...] = ()
    entities: tuple[MentionedEntity, ...] = ()
    warnings: tuple[HydrationWarning, ...] = ()

    @property
    def containers(self) -> tuple[EntityRef, ...]:
        """Entities whose parts are anchored too."""
        return tuple(entity.entity for entity in self.entities if entity.entity.kind in CONTAINERS)

    @property
    def symbols(self) -> tuple[EntityRef, ...]:
        """Mentioned symbols, whose neighbours in the syntax tree are anchored too."""
        return tuple(
            entity.entity
            for entity in self.entities
            if entity.reason is AnchorReason.EXPLICIT_SYMBOL_MENTION and entity.entity.kind in CODE_KINDS
        )


_DEFAULT = AnchorOptions()


def wanted_names(mentions: Sequence[Mention], *, options: AnchorOptions = _DEFAULT) -> tuple[list[str], list[str]]:
    """Return the distinct names of files and of entities to look up. Files also decide which entity is near."""
    names = tuple(dict.fromkeys(name for mention in mentions for name in (*mention.names, *mention.outer)))
    if not (options.file_mentions or options.symbol_mentions):
        return [], []
    files = [name for name in names if name.startswith(FILE_NAMES)]
    entities = [name for name in names if not name.startswith(FILE_NAMES)] if options.symbol_mentions else []
    return files, entities


def resolve(
    mentions: Sequence[Mention], files: MentionedFiles, evidence: Evidence, *, options: AnchorOptions = _DEFAULT
) -> Resolution:
    """Return the mentioned files and entities, with a warning for each ambiguous mention."""
    mentioned = mentioned_entities(mentions, files, evidence) if options.symbol_mentions else MentionedEntities()
    return Resolution(
        files=files.files if options.file_mentions else (),
        entities=mentioned.entities,
        warnings=(*(files.warnings if options.file_mentions else ()), *mentioned.warnings),
    )


def anchors(
    resolution: Resolution,
    *,
    of_documents: Mapping[UUID, tuple[EntityRef, ...]],
    within: Mapping[int, tuple[EntityRef, ...]],
    neighbours: Mapping[int, SyntaxNeighbours],
    previous: Sequence[EntityRef],
    options: AnchorOptions = _DEFAULT,
) -> tuple[Anchor, ...]:
    """Return the anchors, each entity once, with all its reasons.

    Order: priority; strong mentions before weak ones; named entities before the other parts of a file or container,
    which are taken in rounds in text order; then the order of the mention, of the earlier entity (latest turn first),
    or of the symbol whose neighbour it is. A container brings its parts, a file all but its identifiers, which repeat a
    line of another entity. A file named by plain words only follows every strong mention.
    """
    kept: dict[EntityIdentity, _Reasons] = {}
    named = frozenset(entity.entity.identity for entity in resolution.entities)

    def add(entity: EntityRef, reason: AnchorReason, order: int, turn: int = 0, *, weak: bool = False) -> None:
        place = (weak, turn, order)
        orders = kept.setdefault(entity.identity, _Reasons(entity=entity)).orders
        orders[reason] = min(place, orders.get(reason, place))

    for file in resolution.files:
        reason = AnchorReason.PROBABLE_FILE_MENTION if file.weak else AnchorReason.EXPLICIT_FILE_MENTION
        for entity, turn in _in_turn(of_documents.get(file.file.document_id, ()), named):
            add(entity, reason, file.order, turn)
    for mentioned in resolution.entities:
        add(mentioned.entity, mentioned.reason, mentioned.order, weak=mentioned.weak)
        for inner, turn in _in_turn(within.get(mentioned.entity.id, ()), named):
            add(inner, mentioned.reason, mentioned.order, turn, weak=mentioned.weak)
    if options.previous:
        for order, entity in enumerate(previous):
            add(entity, AnchorReason.HYDRATED_PREVIOUS_TURN, order)
    if options.symbol_mentions:
        anchored = frozenset(kept)
        for entity, reason, order in _neighbours(resolution.symbols, neighbours, anchored, options):
            add(entity, reason, order)
    ordered = sorted(kept.values(), key=_Reasons.key)
    return tuple(
        Anchor(
            entity=item.entity,
            reasons=item.reasons,
            along=item.reasons[0] in MENTIONED and item.entity.identity not in named,
        )
        for item in ordered
    )


@dataclass(slots=True, kw_only=True)
class _Reasons:
    """An entity's reasons with the order of each reason's origin."""

    entity: EntityRef
    orders: dict[AnchorReason, tuple[bool, int, int]] = field(default_factory=dict)

    @property
    def reasons(self) -> tuple[AnchorReason, ...]:
        return tuple(sorted(self.orders, key=lambda reason: (-PRIORITIES[reason], reason.value)))

    def key(self) -> tuple[int, tuple[bool, int, int], str, str, int, str]:
        priority = PRIORITIES[self.reasons[0]]
        order = min(order for reason, order in self.orders.items() if PRIORITIES[reason] == priority)
        entity = self.entity
        return (-priority, order, entity.path, entity.external_id, entity.position, entity.key)


def _in_turn(entities: Sequence[EntityRef], named: Collection[EntityIdentity]) -> Iterator[tuple[EntityRef, int]]:
    """Yield entities with their number among the unnamed ones, from 1; named ones have 0."""
    turn = 0
    for entity in sorted(entities, key=lambda entity: (entity.position, entity.key)):
        if entity.kind is EntityKind.IDENTIFIER:
            continue
        turn += entity.identity not in named
        yield entity, turn if entity.identity not in named else 0


def _neighbours(
    symbols: Sequence[EntityRef],
    neighbours: Mapping[int, SyntaxNeighbours],
    anchored: frozenset[EntityIdentity],
    options: AnchorOptions,
) -> Iterator[tuple[EntityRef, AnchorReason, int]]:
    """Yield calls, callers, then the same file, nearest first, in rounds by symbol; anchors are not counted."""
    of_symbols = [neighbours.get(symbol.id, SyntaxNeighbours()) for symbol in symbols]
    kinds = (
        (AnchorReason.AST_CALLS, options.calls, [entry.calls for entry in of_symbols]),
        (AnchorReason.AST_CALLED_BY, options.called_by, [entry.called_by for entry in of_symbols]),
        (AnchorReason.AST_SAME_FILE, options.same_file, [entry.same_file for entry in of_symbols]),
    )
    taken: set[EntityIdentity] = set()
    for reason, limit, of_kind in kinds:
        ranked: list[tuple[int, int, EntityRef]] = []
        for order, (symbol, entities) in enumerate(zip(symbols, of_kind, strict=True)):
            others = [entity for entity in entities if entity.identity != symbol.identity]
            new = [entity for entity in others if entity.identity not in anchored][:limit]
            ranked += [(place, order, entity) for place, entity in enumerate(new)]
            yield from ((entity, reason, order) for entity in others if entity.identity in anchored)
        for _, order, entity in sorted(ranked, key=lambda item: item[:2]):
            if entity.identity in taken or len(taken) < options.neighbours:
                taken.add(entity.identity)
                yield entity, reason, order
