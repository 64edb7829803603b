"""The plan under a budget, by hand-worked numbers: those of the design document first."""

from __future__ import annotations

import pytest

from ragcorp.application.hydration.plan import nearest_first, plan, without
from ragcorp.domain.structure.entities import EntityKind, EntityRef
from ragcorp.domain.structure.hydration import (
    Anchor,
    AnchorReason,
    Channel,
    DropReason,
    HydrationCandidate,
    HydrationLimits,
    HydrationPlan,
    HydrationWarning,
    WarningCode,
)
from support.hydration.in_memory import ref

FILE = AnchorReason.EXPLICIT_FILE_MENTION
SYMBOL = AnchorReason.EXPLICIT_SYMBOL_MENTION
CODE = AnchorReason.EXPLICIT_IDENTIFIER_MENTION
BEFORE = AnchorReason.HYDRATED_PREVIOUS_TURN
CALLS = AnchorReason.AST_CALLS


def anchor(entity: EntityRef, *reasons: AnchorReason) -> Anchor:
    return Anchor(entity=entity, reasons=reasons or (FILE,))


def found(entity: EntityRef, score: float, channel: Channel = Channel.SEMANTIC) -> HydrationCandidate:
    return HydrationCandidate(entity=entity, score=score, channel=channel)


def limits(
    tokens: int = 4000, entities: int = 20, *, semantic_tokens: int = 4000, semantic_entities: int = 10
) -> HydrationLimits:
    return HydrationLimits(
        max_tokens=tokens, max_entities=entities, semantic_tokens=semantic_tokens, semantic_entities=semantic_entities
    )


def keys(planned: HydrationPlan) -> list[str]:
    return [item.entity.key for item in planned.entities]


def codes(planned: HydrationPlan) -> list[tuple[WarningCode, str | None]]:
    return [(warning.code, warning.key) for warning in planned.warnings]


def test_an_anchor_of_priority_100_stands_before_a_candidate_of_score_99() -> None:
    planned = plan([anchor(ref("auth.go::login"))], [found(ref("token.go::sign"), 0.99)], limits=limits())
    assert [(item.position, item.entity.key, item.reasons, item.priority) for item in planned.entities] == [
        (1, "auth.go::login", ("anchor:explicit_file_mention",), 100),
        (2, "token.go::sign", ("semantic:0.99",), 99),
    ]


def test_even_the_least_anchor_stands_before_a_perfect_score() -> None:
    planned = plan(
        [anchor(ref("a.go::near"), AnchorReason.AST_SAME_FILE)], [found(ref("b.go::f"), 1.0)], limits=limits()
    )
    assert [(item.entity.key, item.priority) for item in planned.entities] == [("a.go::near", 60), ("b.go::f", 100)]


def test_of_candidates_of_5000_tokens_a_budget_of_1000_shows_1000() -> None:
    candidates = [found(ref(f"f{number}.go::f", 500), 0.99 - number / 100) for number in range(10)]
    planned = plan([], candidates, limits=limits(1000))
    assert keys(planned) == ["f0.go::f", "f1.go::f"]
    assert (planned.use.tokens, planned.use.semantic_tokens, planned.use.semantic_entities) == (1000, 1000, 2)
    assert (planned.dropped, planned.warnings) == ((), ())


def test_of_anchors_of_8000_tokens_a_budget_of_4000_shows_what_fits_and_names_the_rest() -> None:
    anchors = [
        anchor(ref("auth.go::validateToken", 3000, head=100, position=0)),
        anchor(ref("auth.go::checkPermissions", 3000, head=100, position=1)),
        anchor(ref("auth.go::login", 2000, head=1000, position=2)),
    ]
    planned = plan(anchors, [], limits=limits(4000))
    assert [(item.entity.key, item.tokens, item.cut) for item in planned.entities] == [
        ("auth.go::validateToken", 3000, False),
        ("auth.go::checkPermissions", 100, True),
    ]
    assert [(item.entity.key, item.tokens, item.budget, item.priority) for item in planned.dropped] == [
        ("auth.go::login", 2000, DropReason.TOKENS, 100)
    ]
    assert codes(planned) == [
        (WarningCode.ANCHOR_CUT, "auth.go::checkPermissions"),
        (WarningCode.ANCHOR_DROPPED, "auth.go::login"),
    ]
    cut, dropped = (warning.message for warning in planned.warnings)
    assert "3000 tokens, and 1000 of 4000 are left" in cut
    assert "2000 tokens, its head 1000, and 900 of 4000 are left" in dropped


def test_where_no_anchor_fits_all_are_dropped_and_named() -> None:
    names = ("validateToken", "checkPermissions", "login")
    anchors = [anchor(ref(f"auth.go::{name}", 8000, head=128)) for name in names]
    planned = plan(anchors, [], limits=limits(100))
    assert planned.entities == ()
    assert [item.entity.name for item in planned.dropped] == list(names)
    assert [warning.code for warning in planned.warnings] == [WarningCode.ANCHOR_DROPPED] * 3


def test_an_anchor_that_is_dropped_does_not_end_the_plan() -> None:
    anchors = [anchor(ref("a.go::big", 900, head=500), SYMBOL), anchor(ref("a.go::small", 200), SYMBOL)]
    planned = plan(anchors, [], limits=limits(400))
    assert (keys(planned), [item.entity.key for item in planned.dropped]) == (["a.go::small"], ["a.go::big"])


def test_anchors_go_by_priority_and_keep_their_order_within_one() -> None:
    anchors = [
        anchor(ref("d.go::called"), CALLS),
        anchor(ref("z.go::second"), SYMBOL),
        anchor(ref("a.go::first"), SYMBOL, BEFORE),
        anchor(ref("c.go::seen"), BEFORE),
        anchor(ref("m.go::file")),
    ]
    planned = plan(anchors, [], limits=limits())
    assert keys(planned) == ["m.go::file", "z.go::second", "a.go::first", "c.go::seen", "d.go::called"]
    assert planned.entities[2].reasons == ("anchor:explicit_symbol_mention", "anchor:hydrated_previous_turn")


def test_what_comes_along_with_a_file_goes_by_similarity_behind_what_is_named() -> None:
    near, far, unscored, named, least = (ref(f"a.go::{name}") for name in ("near", "far", "unscored", "named", "least"))
    file = AnchorReason.EXPLICIT_FILE_MENTION
    given = [
        *(Anchor(entity=item, reasons=(file,), along=True) for item in (unscored, far, near)),
        anchor(named, file),
        anchor(least, AnchorReason.AST_CALLS),
    ]
    scores = {near.identity: 0.9, far.identity: 0.85, named.identity: 0.1, least.identity: 1.0}
    assert [item.entity.name for item in nearest_first(given, scores)] == ["named", "near", "far", "unscored", "least"]
    assert [item.entity.name for item in nearest_first(given, {})] == ["named", "unscored", "far", "near", "least"]


def test_what_was_shown_before_stays_and_gives_way_to_mentions_only() -> None:
    anchors = [anchor(ref("seen.go::old", 600), BEFORE), anchor(ref("auth.go::login", 300), SYMBOL)]
    whole = plan(anchors, [found(ref("b.go::f", 200), 0.95)], limits=limits(900))
    assert keys(whole) == ["auth.go::login", "seen.go::old"]
    tight = plan(anchors, [], limits=limits(350))
    assert (keys(tight), [item.entity.key for item in tight.dropped]) == (["auth.go::login"], ["seen.go::old"])


def test_where_enough_entities_are_shown_anchors_are_dropped_by_that_budget() -> None:
    anchors = [anchor(ref(f"a.go::f{number}", 10, position=number)) for number in range(3)]
    planned = plan(anchors, [found(ref("b.go::f", 10), 0.9)], limits=limits(entities=2))
    assert keys(planned) == ["a.go::f0", "a.go::f1"]
    assert [(item.entity.key, item.budget) for item in planned.dropped] == [("a.go::f2", DropReason.ENTITIES)]
    assert "2 entities are shown already" in planned.warnings[0].message


def test_the_semantic_budgets_bound_candidates_within_the_whole() -> None:
    candidates = [found(ref(f"f{number}.go::f", 100), 0.99 - number / 100) for number in range(9)]
    by_tokens = plan([anchor(ref("a.go::f", 1000))], candidates, limits=limits(semantic_tokens=350))
    assert (len(by_tokens.entities), by_tokens.use.semantic_tokens, by_tokens.use.tokens) == (4, 300, 1300)
    by_entities = plan([anchor(ref("a.go::f", 1000))], candidates, limits=limits(semantic_entities=2))
    assert keys(by_entities) == ["a.go::f", "f0.go::f", "f1.go::f"]
    by_whole = plan([anchor(ref("a.go::f", 1000))], candidates, limits=limits(1250))
    assert (len(by_whole.entities), by_whole.use.tokens) == (3, 1200)
    by_count = plan([anchor(ref("a.go::f", 1000))], candidates, limits=limits(entities=4))
    assert (by_count.use.entities, by_count.use.semantic_entities) == (4, 3)


def test_the_first_candidate_that_does_not_fit_ends_the_plan() -> None:
    candidates = [found(ref("a.go::f", 300), 0.9), found(ref("b.go::f", 200), 0.8), found(ref("c.go::f", 50), 0.75)]
    assert keys(plan([], candidates, limits=limits(400))) == ["a.go::f"]


def test_a_candidate_larger_than_all_the_room_is_passed_over() -> None:
    candidates = [found(ref("a.go::f", 500), 0.9), found(ref("b.go::f", 200), 0.8), found(ref("c.go::f", 200), 0.75)]
    planned = plan([anchor(ref("d.go::f", 600))], candidates, limits=limits(1000))
    assert keys(planned) == ["d.go::f", "b.go::f", "c.go::f"]


def test_a_candidate_is_never_cut() -> None:
    planned = plan([], [found(ref("a.go::f", 500, head=5), 0.9)], limits=limits(100))
    assert (planned.entities, planned.dropped, planned.warnings) == ((), (), ())


def test_candidates_of_one_score_go_by_path_position_and_key() -> None:
    candidates = [
        found(ref("b.go::a"), 0.8),
        found(ref("a.go::z", position=2), 0.8),
        found(ref("a.go::y", position=1), 0.8),
        found(ref("z.go::best"), 0.81),
    ]
    assert keys(plan([], candidates, limits=limits())) == ["z.go::best", "a.go::y", "a.go::z", "b.go::a"]


def test_nothing_is_shown_twice() -> None:
    login = ref("auth.go::login")
    other = ref("b.go::f")
    planned = plan([anchor(login), anchor(login, BEFORE)], [found(login, 0.9), found(other, 0.8), found(other, 0.7)],
                   limits=limits())  # fmt: skip
    assert [(item.entity.key, item.reasons) for item in planned.entities] == [
        ("auth.go::login", ("anchor:explicit_file_mention",)),
        ("b.go::f", ("semantic:0.80",)),
    ]


def test_a_dropped_anchor_does_not_come_back_as_a_candidate() -> None:
    big = ref("a.go::big", 500, head=400)
    planned = plan([anchor(big), anchor(ref("a.go::empty", 0))], [found(big, 0.99)], limits=limits(100))
    assert keys(planned) == ["a.go::empty"]


def test_the_keyword_channel_names_itself() -> None:
    planned = plan([], [found(ref("a.go::f"), 0.626, Channel.KEYWORD)], limits=limits())
    assert (planned.entities[0].reasons, planned.entities[0].priority) == (("keyword:0.63",), 62)


def line(key: str, container: str | None, tokens: int = 30) -> EntityRef:
    return ref(key, tokens, kind=EntityKind.IDENTIFIER, container=container)


@pytest.mark.parametrize("container", ["c.md#Pagos", None])
def test_an_identifier_in_what_is_shown_whole_lends_its_reason_to_it(container: str | None) -> None:
    section = ref(container or "c.md", 200, kind=EntityKind.SECTION if container else EntityKind.FILE)
    planned = plan([anchor(section), anchor(line("c.md#FAC-7", container), CODE)], [], limits=limits())
    assert [(item.entity.key, item.reasons, item.tokens) for item in planned.entities] == [
        (section.key, ("anchor:explicit_file_mention", "anchor:explicit_identifier_mention"), 200)
    ]


def test_an_identifier_is_shown_where_its_container_is_cut_or_is_another_documents() -> None:
    section = ref("c.md#Pagos", 200, head=20, kind=EntityKind.SECTION)
    planned = plan([anchor(section), anchor(line("c.md#FAC-7", "c.md#Pagos"), CODE)], [], limits=limits(100))
    assert [(item.entity.key, item.cut) for item in planned.entities] == [("c.md#Pagos", True), ("c.md#FAC-7", False)]
    elsewhere = plan([anchor(section), anchor(line("d.md#FAC-7", "c.md#Pagos"), CODE)], [], limits=limits())
    assert keys(elsewhere) == ["c.md#Pagos", "d.md#FAC-7"]


def test_an_identifier_among_the_candidates_is_left_to_its_container() -> None:
    section = ref("c.md#Pagos", 200, kind=EntityKind.SECTION)
    planned = plan([anchor(section)], [found(line("c.md#FAC-7", "c.md#Pagos"), 0.9)], limits=limits())
    assert [(item.entity.key, item.reasons) for item in planned.entities] == [
        ("c.md#Pagos", ("anchor:explicit_file_mention",))
    ]


def test_budgets_of_zero_show_nothing_but_what_has_no_size() -> None:
    anchors, candidates = [anchor(ref("a.go::f", 1))], [found(ref("b.go::f", 1), 0.9)]
    for none in (limits(0), limits(entities=0)):
        planned = plan(anchors, candidates, limits=none)
        assert (planned.entities, len(planned.dropped)) == ((), 1)
    for none in (limits(semantic_tokens=0), limits(semantic_entities=0)):
        assert keys(plan(anchors, candidates, limits=none)) == ["a.go::f"]
    empty = plan([anchor(ref("a.go::f", 0))], [found(ref("b.go::f", 0), 0.9)], limits=limits(0, semantic_tokens=0))
    assert (keys(empty), empty.use.tokens) == (["a.go::f", "b.go::f"], 0)


def test_an_entity_without_a_head_of_its_own_is_dropped_whole() -> None:
    for head in (0, 500):
        planned = plan([anchor(ref("a.go::f", 500, head=head))], [], limits=limits(499))
        assert (planned.entities, [warning.code for warning in planned.warnings]) == ((), [WarningCode.ANCHOR_DROPPED])
        assert "its head" not in planned.warnings[0].message


def test_warnings_of_before_come_first() -> None:
    ambiguous = HydrationWarning(code=WarningCode.AMBIGUOUS_MENTION, message="`login` names 12.", key="a.go::login")
    planned = plan([anchor(ref("a.go::f", 9))], [], limits=limits(0), warnings=[ambiguous])
    assert codes(planned) == [(WarningCode.AMBIGUOUS_MENTION, "a.go::login"), (WarningCode.ANCHOR_DROPPED, "a.go::f")]


def test_what_vanished_is_left_out_and_positions_close_up() -> None:
    anchors = [anchor(ref("a.go::f", 10)), anchor(ref("b.go::f", 20)), anchor(ref("c.go::f", 30))]
    planned = plan(anchors, [found(ref("d.go::f", 40), 0.9), found(ref("e.go::f", 50), 0.8)], limits=limits())
    left = without(planned, {ref("b.go::f").id, ref("d.go::f").id})
    assert [(item.position, item.entity.key) for item in left.entities] == [
        (1, "a.go::f"),
        (2, "c.go::f"),
        (3, "e.go::f"),
    ]
    use = left.use
    assert (use.tokens, use.entities, use.semantic_tokens, use.semantic_entities) == (90, 3, 50, 1)
    assert without(planned, ()) is planned
