"""Plans a hydration within its budget: anchors first, then candidates. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ragcorp.domain.structure.entities import EntityIdentity, EntityKind, EntityRef
from ragcorp.domain.structure.hydration import (
    Anchor,
    DroppedEntity,
    DropReason,
    HydrationCandidate,
    HydrationLimits,
    HydrationPlan,
    HydrationUse,
    HydrationWarning,
    PlannedEntity,
    WarningCode,
)


def plan(
    anchors: Sequence[Anchor],
    candidates: Sequence[HydrationCandidate],
    *,
    limits: HydrationLimits,
    warnings: Sequence[HydrationWarning] = (),
) -> HydrationPlan:
    """Fill the limits with anchors, then with candidates; each entity is shown once.

    Anchors are taken by priority, then in the given order. One that does not fit is cut to its head, else dropped, and
    the next ones are still tried; each cut and each drop gives a warning.

    Candidates are taken by score, then path, position and identity, within the semantic limits too, and never cut. One
    larger than all the room left by anchors is skipped. The first other one that does not fit ends the filling: a
    smaller candidate never replaces a better one.

    An identifier repeats a line of its container. If the container is already planned whole, it replaces the
    identifier and takes over its reasons.
    """
    filling = _Filling(limits, warnings)
    for anchor in sorted(anchors, key=lambda anchor: -anchor.priority):
        filling.add_anchor(anchor)
    filling.add_candidates(sorted(candidates, key=_order))
    return filling.plan()


def nearest_first(anchors: Sequence[Anchor], scores: Mapping[EntityIdentity, float]) -> tuple[Anchor, ...]:
    """Order parts of a mentioned file or container by similarity, after named entities, within one priority."""

    def key(anchor: Anchor) -> tuple[int, bool, float]:
        score = scores.get(anchor.entity.identity, -1.0) if anchor.along else 0.0
        return (-anchor.priority, anchor.along, -score)

    return tuple(sorted(anchors, key=key))


def without(planned: HydrationPlan, gone: Collection[int]) -> HydrationPlan:
    """Return the plan without these entities, which were deleted meanwhile; positions and use are adjusted."""
    kept = [entity for entity in planned.entities if entity.entity.id not in gone]
    if len(kept) == len(planned.entities):
        return planned
    lost = [entity for entity in planned.entities if entity.entity.id in gone]
    semantic = [entity for entity in lost if not entity.reasons[0].startswith("anchor:")]
    use = planned.use
    return replace(
        planned,
        entities=tuple(replace(entity, position=position) for position, entity in enumerate(kept, start=1)),
        use=replace(
            use,
            tokens=use.tokens - sum(entity.tokens for entity in lost),
            entities=use.entities - len(lost),
            semantic_tokens=use.semantic_tokens - sum(entity.tokens for entity in semantic),
            semantic_entities=use.semantic_entities - len(semantic),
        ),
    )


def has_room(planned: HydrationPlan) -> bool:
    """Return whether a plan of anchors leaves room for a candidate."""
    use, limits = planned.use, planned.use.limits
    semantic = limits.semantic_tokens > 0 and limits.semantic_entities > 0
    return semantic and use.tokens < limits.max_tokens and use.entities < limits.max_entities


class _Filling:
    """A plan under construction."""

    def __init__(self, limits: HydrationLimits, warnings: Sequence[HydrationWarning]) -> None:
        self._limits = limits
        self._shown: list[PlannedEntity] = []
        self._dropped: list[DroppedEntity] = []
        self._warnings = list(warnings)
        self._places: dict[EntityIdentity, int] = {}
        self._seen: set[EntityIdentity] = set()
        self._tokens = self._semantic_tokens = self._semantic_entities = 0

    def add_anchor(self, anchor: Anchor) -> None:
        entity = anchor.entity
        if entity.identity in self._seen:
            return
        self._seen.add(entity.identity)
        reasons = tuple(f"anchor:{reason}" for reason in anchor.reasons)
        left = self._limits.max_tokens - self._tokens
        if (place := self._container_of(entity)) is not None:
            container = self._shown[place]
            both = tuple(dict.fromkeys((*container.reasons, *reasons)))
            self._shown[place] = replace(container, reasons=both)
        elif len(self._shown) >= self._limits.max_entities:
            self._drop(anchor, reasons, DropReason.ENTITIES)
        elif entity.token_count <= left:
            self._show(entity, reasons, anchor.priority, entity.token_count)
        elif _has_head(entity) and entity.head_tokens <= left:
            self._show(entity, reasons, anchor.priority, entity.head_tokens, cut=True)
            self._warn(
                WarningCode.ANCHOR_CUT,
                entity,
                f"is shown as its head: all of it takes {entity.token_count} tokens, and {left} of "
                f"{self._limits.max_tokens} are left",
            )
        else:
            self._drop(anchor, reasons, DropReason.TOKENS)

    def add_candidates(self, candidates: Sequence[HydrationCandidate]) -> None:
        limits = self._limits
        room = min(limits.semantic_tokens, limits.max_tokens - self._tokens)
        for candidate in candidates:
            entity = candidate.entity
            if entity.identity in self._seen or entity.token_count > room or self._container_of(entity) is not None:
                continue
            self._seen.add(entity.identity)
            if (
                len(self._shown) >= limits.max_entities
                or self._semantic_entities >= limits.semantic_entities
                or self._semantic_tokens + entity.token_count > room
            ):
                return
            reason = f"{candidate.channel}:{candidate.score:.2f}"
            self._show(entity, (reason,), int(candidate.score * 100), entity.token_count)
            self._semantic_tokens += entity.token_count
            self._semantic_entities += 1

    def plan(self) -> HydrationPlan:
        return HydrationPlan(
            entities=tuple(self._shown),
            dropped=tuple(self._dropped),
            warnings=tuple(self._warnings),
            use=HydrationUse(
                limits=self._limits,
                tokens=self._tokens,
                entities=len(self._shown),
                semantic_tokens=self._semantic_tokens,
                semantic_entities=self._semantic_entities,
            ),
        )

    def _container_of(self, entity: EntityRef) -> int | None:
        """Return the index of the container (or file) that already shows an identifier's line."""
        if entity.kind is not EntityKind.IDENTIFIER:
            return None
        key = entity.path if entity.container is None else entity.container
        place = self._places.get(EntityIdentity(document_id=entity.document_id, key=key))
        return None if place is None or self._shown[place].cut else place

    def _show(
        self, entity: EntityRef, reasons: tuple[str, ...], priority: int, tokens: int, *, cut: bool = False
    ) -> None:
        self._places[entity.identity] = len(self._shown)
        self._tokens += tokens
        self._shown.append(
            PlannedEntity(
                entity=entity, reasons=reasons, priority=priority, tokens=tokens, position=len(self._shown) + 1, cut=cut
            )
        )

    def _drop(self, anchor: Anchor, reasons: tuple[str, ...], budget: DropReason) -> None:
        entity, limits = anchor.entity, self._limits
        self._dropped.append(
            DroppedEntity(
                entity=entity, reasons=reasons, priority=anchor.priority, tokens=entity.token_count, budget=budget
            )
        )
        if budget is DropReason.ENTITIES:
            why = f"is left out: {limits.max_entities} entities are shown already"
        else:
            head = f", its head {entity.head_tokens}" if _has_head(entity) else ""
            left = limits.max_tokens - self._tokens
            why = f"is left out: it takes {entity.token_count} tokens{head}, and {left} of {limits.max_tokens} are left"
        self._warn(WarningCode.ANCHOR_DROPPED, entity, why)

    def _warn(self, code: WarningCode, entity: EntityRef, why: str) -> None:
        message = f"{entity.key} {why}. Ask more specifically, or raise the budget."
        self._warnings.append(
            HydrationWarning(code=code, message=message, key=entity.key, document_id=entity.document_id)
        )


def _order(candidate: HydrationCandidate) -> tuple[float, str, int, str, str]:
    entity = candidate.entity
    return (-candidate.score, entity.path, entity.position, entity.key, str(entity.document_id))


def _has_head(entity: EntityRef) -> bool:
    return 0 < entity.head_tokens < entity.token_count
