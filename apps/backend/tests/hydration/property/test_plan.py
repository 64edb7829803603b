"""What must hold of every plan, whatever the anchors, candidates and budgets."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import assume, given
from hypothesis import strategies as st

from ragcorp.application.hydration.plan import has_room, plan, without
from ragcorp.domain.structure.entities import EntityKind, EntityRef
from ragcorp.domain.structure.hydration import (
    PRIORITIES,
    Anchor,
    AnchorReason,
    Channel,
    DropReason,
    HydrationCandidate,
    HydrationLimits,
    HydrationPlan,
    PlannedEntity,
    WarningCode,
)
from support.hydration.in_memory import ref

NUMBERS = st.integers(0, 11)
SIZES = st.one_of(st.integers(0, 60), st.just(0), st.integers(100, 200))
REASONS = st.lists(st.sampled_from(AnchorReason), min_size=1, max_size=4, unique=True).map(
    lambda reasons: tuple(sorted(reasons, key=lambda each: (-PRIORITIES[each], each)))
)
SCORES = st.one_of(st.floats(0, 1), st.sampled_from([0.7, 0.8, 1.0]))
LIMITS = st.builds(
    HydrationLimits,
    max_tokens=st.one_of(st.integers(0, 300), st.just(0)),
    max_entities=st.integers(0, 12),
    semantic_tokens=st.integers(0, 200),
    semantic_entities=st.integers(0, 8),
)


@st.composite
def pools(draw: st.DrawFn) -> tuple[list[Anchor], list[HydrationCandidate]]:
    """Draw anchors and candidates over a dozen entities: many are both, and a few are identifiers in another."""
    entities = []
    for number in range(12):
        tokens = draw(SIZES)
        within = draw(st.none() | NUMBERS) if number % 3 == 0 else None
        entities.append(
            ref(
                f"d{number % 2}.md#{number}",
                tokens,
                head=draw(st.integers(0, tokens)),
                position=draw(st.integers(0, 3)),
                kind=EntityKind.IDENTIFIER if within is not None else EntityKind.SECTION,
                container=None if within is None else f"d{within % 2}.md#{within}",
            )
        )
    anchored = draw(st.lists(NUMBERS, unique=True, max_size=8))
    similar = draw(st.lists(NUMBERS, unique=True, max_size=12))
    channel = draw(st.sampled_from(Channel))
    return (
        [Anchor(entity=entities[number], reasons=draw(REASONS)) for number in anchored],
        [HydrationCandidate(entity=entities[number], score=draw(SCORES), channel=channel) for number in similar],
    )


def is_anchored(item: PlannedEntity) -> bool:
    return item.reasons[0].startswith("anchor:")


def stands_in(entity: EntityRef, shown: Sequence[PlannedEntity]) -> bool:
    """Say whether an identifier's container is shown whole."""
    return entity.kind is EntityKind.IDENTIFIER and any(
        item.entity.document_id == entity.document_id
        and item.entity.key == (entity.container or entity.path)
        and not item.cut
        for item in shown
    )


def rank(candidate: HydrationCandidate) -> tuple[float, str, int, str]:
    return (-candidate.score, candidate.entity.path, candidate.entity.position, candidate.entity.key)


Pools = tuple[list[Anchor], list[HydrationCandidate]]


@given(pools(), LIMITS)
def test_anchors_never_stand_after_candidates(pool: Pools, limits: HydrationLimits) -> None:
    planned = plan(*pool, limits=limits)
    anchored = [is_anchored(item) for item in planned.entities]
    assert anchored == sorted(anchored, reverse=True)


@given(pools(), LIMITS)
def test_no_budget_is_exceeded_and_the_use_is_the_sum_of_what_is_shown(pool: Pools, limits: HydrationLimits) -> None:
    planned = plan(*pool, limits=limits)
    semantic = [item for item in planned.entities if not is_anchored(item)]
    use = planned.use
    assert use.tokens == sum(item.tokens for item in planned.entities) <= limits.max_tokens
    assert use.entities == len(planned.entities) <= limits.max_entities
    assert use.semantic_tokens == sum(item.tokens for item in semantic) <= limits.semantic_tokens
    assert use.semantic_entities == len(semantic) <= limits.semantic_entities
    assert use.limits == limits


@given(pools(), LIMITS, st.randoms(use_true_random=False))
def test_the_order_of_candidates_says_nothing(pool: Pools, limits: HydrationLimits, random) -> None:  # type: ignore[no-untyped-def]
    anchors, candidates = pool
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert plan(anchors, shuffled, limits=limits) == plan(anchors, candidates, limits=limits)


@given(pools(), LIMITS)
def test_anchors_go_by_priority_in_the_order_given_and_candidates_by_rank(pool: Pools, limits: HydrationLimits) -> None:
    anchors, candidates = pool
    planned = plan(anchors, candidates, limits=limits)
    assert [item.position for item in planned.entities] == list(range(1, len(planned.entities) + 1))
    place = {anchor.entity.key: (-anchor.priority, number) for number, anchor in enumerate(anchors)}
    shown = [place[item.entity.key] for item in planned.entities if is_anchored(item)]
    assert shown == sorted(shown)
    ranks = {candidate.entity.key: rank(candidate) for candidate in candidates}
    ranked = [ranks[item.entity.key] for item in planned.entities if not is_anchored(item)]
    assert ranked == sorted(ranked)


@given(pools(), LIMITS)
def test_every_anchor_is_shown_dropped_or_stands_in_its_container_and_none_is_shown_twice(
    pool: Pools, limits: HydrationLimits
) -> None:
    anchors, candidates = pool
    planned = plan(anchors, candidates, limits=limits)
    shown = [item.entity.key for item in planned.entities]
    dropped = [item.entity.key for item in planned.dropped]
    assert len({*shown, *dropped}) == len(shown) + len(dropped)
    for anchor in anchors:
        key = anchor.entity.key
        assert (key in shown) + (key in dropped) == 1 or stands_in(anchor.entity, planned.entities)
    assert {item.entity.key for item in planned.entities if is_anchored(item)} <= {a.entity.key for a in anchors}


@given(pools(), LIMITS)
def test_what_is_given_twice_is_as_good_as_given_once(pool: Pools, limits: HydrationLimits) -> None:
    anchors, candidates = pool
    twice = plan([*anchors, *anchors], [*candidates, *candidates], limits=limits)
    assert twice == plan(anchors, candidates, limits=limits)


@given(pools(), LIMITS)
def test_every_reason_of_an_anchor_is_told_somewhere(pool: Pools, limits: HydrationLimits) -> None:
    anchors, candidates = pool
    planned = plan(anchors, candidates, limits=limits)
    told = {item.entity.key: item.reasons for item in planned.entities}
    told |= {item.entity.key: item.reasons for item in planned.dropped}
    for anchor in anchors:
        key = anchor.entity.key if anchor.entity.key in told else anchor.entity.container
        assert {f"anchor:{reason}" for reason in anchor.reasons} <= set(told[key or anchor.entity.path])


def replayed(pool: Pools, limits: HydrationLimits) -> tuple[HydrationPlan, list[tuple[Anchor, int, int]]]:
    """Return a plan, and each anchor with the tokens and the entities that are shown at its turn."""
    anchors, candidates = pool
    planned = plan(anchors, candidates, limits=limits)
    turns, tokens, count = [], 0, 0
    shown = {each.entity.key: each for each in planned.entities}
    for anchor in sorted(anchors, key=lambda each: -each.priority):
        turns.append((anchor, tokens, count))
        if (each := shown.get(anchor.entity.key)) is not None:
            tokens, count = tokens + each.tokens, count + 1
    return planned, turns


@given(pools(), LIMITS)
def test_an_anchor_is_dropped_only_where_neither_it_nor_its_head_fits(pool: Pools, limits: HydrationLimits) -> None:
    planned, turns = replayed(pool, limits)
    budgets = {item.entity.key: item.budget for item in planned.dropped}
    for anchor, tokens, count in turns:
        entity = anchor.entity
        budget = budgets.get(entity.key)
        left = limits.max_tokens - tokens
        if budget is DropReason.ENTITIES:
            assert count == limits.max_entities
        elif budget is DropReason.TOKENS:
            assert entity.token_count > left
            assert entity.head_tokens in (0, entity.token_count) or entity.head_tokens > left


@given(pools(), LIMITS)
def test_an_anchor_is_cut_only_where_it_does_not_fit_whole_and_then_takes_what_its_head_takes(
    pool: Pools, limits: HydrationLimits
) -> None:
    planned, turns = replayed(pool, limits)
    shown = {item.entity.key: item for item in planned.entities}
    for anchor, tokens, _ in turns:
        if (item := shown.get(anchor.entity.key)) is not None:
            fits = anchor.entity.token_count <= limits.max_tokens - tokens
            assert item.cut is not fits
            assert item.tokens == (anchor.entity.token_count if fits else anchor.entity.head_tokens)
    assert not any(item.cut for item in planned.entities if not is_anchored(item))


@given(pools(), LIMITS)
def test_every_cut_and_every_drop_is_a_warning_and_nothing_else_is(pool: Pools, limits: HydrationLimits) -> None:
    planned = plan(*pool, limits=limits)
    warned = [(warning.code, warning.key) for warning in planned.warnings]
    cut = [(WarningCode.ANCHOR_CUT, item.entity.key) for item in planned.entities if item.cut]
    dropped = [(WarningCode.ANCHOR_DROPPED, item.entity.key) for item in planned.dropped]
    assert sorted(warned) == sorted([*cut, *dropped])


@given(pools(), LIMITS)
def test_room_that_is_left_after_anchors_goes_to_the_next_candidates(pool: Pools, limits: HydrationLimits) -> None:
    """The first candidate that is not shown, of those that any of the room could hold, does not fit into what is left.

    The others after it are not shown either: what is shown is the head of the ranking.
    """
    anchors, candidates = pool
    planned = plan(anchors, candidates, limits=limits)
    by_anchors = [item for item in planned.entities if is_anchored(item)]
    room = min(limits.semantic_tokens, limits.max_tokens - sum(item.tokens for item in by_anchors))
    anchored = {anchor.entity.key for anchor in anchors}
    shown = [item.entity.key for item in planned.entities if not is_anchored(item)]
    eligible = [
        candidate.entity
        for candidate in sorted(candidates, key=rank)
        if candidate.entity.key not in anchored
        and candidate.entity.token_count <= room
        and (candidate.entity.key in shown or not stands_in(candidate.entity, planned.entities))
    ]
    assert shown == [entity.key for entity in eligible[: len(shown)]]
    if len(eligible) > len(shown):
        use, following = planned.use, eligible[len(shown)]
        assert (
            use.entities == limits.max_entities
            or use.semantic_entities == limits.semantic_entities
            or use.semantic_tokens + following.token_count > limits.semantic_tokens
            or use.tokens + following.token_count > limits.max_tokens
        )


@given(pools(), LIMITS)
def test_candidates_change_nothing_of_the_anchors(pool: Pools, limits: HydrationLimits) -> None:
    anchors, candidates = pool
    alone, together = plan(anchors, (), limits=limits), plan(anchors, candidates, limits=limits)
    assert together.entities[: len(alone.entities)] == alone.entities
    assert (together.dropped, together.warnings) == (alone.dropped, alone.warnings)
    if len(together.entities) > len(alone.entities):
        assert has_room(alone) or all(item.tokens == 0 for item in together.entities[len(alone.entities) :])


@given(pools(), LIMITS)
def test_what_was_shown_before_stays_unless_it_does_not_fit(pool: Pools, limits: HydrationLimits) -> None:
    """Whatever is similar, and however much: an entity of an earlier turn is missing only where it is dropped."""
    anchors, candidates = pool
    planned = plan(anchors, candidates, limits=limits)
    before = {a.entity.key for a in anchors if AnchorReason.HYDRATED_PREVIOUS_TURN in a.reasons}
    gone = before - {item.entity.key for item in planned.entities} - {item.entity.key for item in planned.dropped}
    assert all(stands_in(a.entity, planned.entities) for a in anchors if a.entity.key in gone)
    larger = plan(anchors, candidates, limits=HydrationLimits(max_tokens=10_000, max_entities=100))
    assert not larger.dropped
    assert not any(item.cut for item in larger.entities)


@given(pools(), LIMITS, st.sampled_from(["max_tokens", "max_entities", "semantic_tokens", "semantic_entities"]))
def test_a_budget_of_zero_shows_nothing_of_what_it_bounds(pool: Pools, limits: HydrationLimits, name: str) -> None:
    values = {item: getattr(limits, item) for item in HydrationLimits.__slots__}
    planned = plan(*pool, limits=HydrationLimits(**{**values, name: 0}))
    bounded = [item for item in planned.entities if name.startswith("max") or not is_anchored(item)]
    assert not bounded or (name.endswith("tokens") and all(item.tokens == 0 for item in bounded))


@given(pools(), LIMITS, st.sets(NUMBERS))
def test_what_vanishes_leaves_the_others_in_their_order(pool: Pools, limits: HydrationLimits, gone: set[int]) -> None:
    planned = plan(*pool, limits=limits)
    assume(planned.entities)
    ids = {item.entity.id for number, item in enumerate(planned.entities) if number in gone}
    left = without(planned, ids)
    kept = [item for item in planned.entities if item.entity.id not in ids]
    assert [item.entity for item in left.entities] == [item.entity for item in kept]
    assert [item.position for item in left.entities] == list(range(1, len(kept) + 1))
    semantic = [item.tokens for item in kept if not is_anchored(item)]
    assert (left.use.tokens, left.use.entities) == (sum(item.tokens for item in kept), len(kept))
    assert (left.use.semantic_tokens, left.use.semantic_entities) == (sum(semantic), len(semantic))
