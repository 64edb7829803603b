"""The use case over structure and episodes in memory: what it plans, what it asks for and what it records."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

import pytest

from ragcorp.application.hydration.hydrate import HydrationOptions
from ragcorp.application.structure.anchors import AnchorOptions
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.structure.hydration import DropReason, WarningCode
from support.hydration.in_memory import Kept, MemoryFrequencies, MemoryIndex, MemoryKeywords, ref
from support.hydration.world import (
    BEN,
    COOK,
    FIX,
    LOGIN,
    SIGN,
    VALIDATE,
    World,
    codes,
    keys,
    out,
    reasons,
    stored,
    with_limits,
)
from support.models.embedders import HashingEmbedder
from support.storage.stored import where

pytestmark = pytest.mark.anyio


async def test_anchors_of_the_named_file_come_first_then_what_is_similar_enough() -> None:
    hydration = await World().turn(FIX)
    assert reasons(hydration) == {
        "auth.go::ValidateToken": ("anchor:explicit_file_mention",),
        "auth.go::Login": ("anchor:explicit_file_mention",),
        "token.go::SignToken": ("semantic:0.85",),
        "pay.go::ChargeCard": ("semantic:0.70",),
    }
    assert [item.planned.position for item in hydration.entities] == [1, 2, 3, 4]
    assert hydration.entities[0].shown == "the text of auth.go::ValidateToken"
    assert (hydration.model, hydration.turn, hydration.warnings, hydration.reports) == ("test-embedder", 1, (), ())
    use = hydration.use
    assert (use.tokens, use.entities, use.semantic_tokens, use.semantic_entities) == (400, 4, 200, 2)


async def test_what_a_turn_showed_is_an_anchor_in_the_next_and_in_no_other_episode() -> None:
    world = World()
    await world.turn(FIX)
    world.index.kept = [Kept(entity=item.entity, score=0.1) for item in world.index.kept]
    again = await world.turn("Otra cosa")
    assert again.turn == 2
    assert {reason for item in reasons(again).values() for reason in item} == {"anchor:hydrated_previous_turn"}
    assert keys(again) == ["auth.go::ValidateToken", "auth.go::Login", "token.go::SignToken", "pay.go::ChargeCard"]
    for other in (world.turn("Otra cosa", principal=BEN), world.turn("Otra cosa", episode_id="f")):
        hydration = await other
        assert (hydration.turn, hydration.entities) == (1, ())


async def test_what_a_turn_showed_is_no_anchor_where_that_is_off() -> None:
    world = World(options=HydrationOptions(anchors=AnchorOptions(previous=False), semantic=False))
    assert keys(await world.turn(FIX)) == ["auth.go::ValidateToken", "auth.go::Login"]
    assert keys(await world.turn("Otra cosa")) == []


async def test_files_are_no_anchors_where_that_is_off() -> None:
    world = World(options=HydrationOptions(anchors=AnchorOptions(file_mentions=False)))
    assert reasons(await world.turn(FIX)) == {
        "auth.go::ValidateToken": ("semantic:0.99",),
        "auth.go::Login": ("semantic:0.95",),
        "token.go::SignToken": ("semantic:0.85",),
        "pay.go::ChargeCard": ("semantic:0.70",),
    }


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        (FIX, "Fix the authentication bug in"),
        (
            "En `src/auth.go` falla la autenticación, y en token.go también",
            "En `` falla la autenticación, y en también",
        ),
        ("What does auth.go do?", "What does auth.go do?"),
        ("auth.go", "auth.go"),
        ("What does ValidateToken() verify here?", "What does ValidateToken() verify here?"),
    ],
)
async def test_what_is_similar_is_asked_without_the_files_that_are_anchored(query: str, asked: str) -> None:
    world = World()
    await world.turn(query)
    assert world.embedder.queries == [asked]
    as_it_is = World(options=HydrationOptions(anchors=AnchorOptions(file_mentions=False)))
    await as_it_is.turn(query)
    assert as_it_is.embedder.queries == [query]


async def test_a_symbol_anchors_itself_and_what_it_calls() -> None:
    world = World(options=HydrationOptions(semantic=False))
    hydration = await world.turn("What does ValidateToken() do?")
    assert reasons(hydration) == {
        "auth.go::ValidateToken": ("anchor:explicit_symbol_mention",),
        "token.go::SignToken": ("anchor:ast_calls",),
        "auth.go::Login": ("anchor:ast_same_file",),
    }


async def test_where_all_scores_are_below_the_threshold_words_fill_the_room() -> None:
    world = World(keywords=MemoryKeywords({"1": 0.62, "2": 0.2, "3": 0.19, "4": 0.9}))
    world.index.kept = [Kept(entity=item.entity, score=min(item.score or 0, 0.7)) for item in world.index.kept]
    world.index.chunks = {
        "1": ("log.go::WriteLine",),
        "2": ("pay.go::ChargeCard", "log.go::WriteLine"),
        "3": ("menu.go::CookSoup",),
        "4": ("auth.go::Login",),
    }
    hydration = await world.turn("Add logging to auth.go")
    assert reasons(hydration) == {
        "auth.go::ValidateToken": ("anchor:explicit_file_mention",),
        "auth.go::Login": ("anchor:explicit_file_mention",),
        "log.go::WriteLine": ("keyword:0.62",),
        "pay.go::ChargeCard": ("keyword:0.20",),
    }
    assert codes(hydration) == [WarningCode.NO_SEMANTIC_CANDIDATES]
    assert "0.70" in hydration.warnings[0].message
    assert (hydration.model, hydration.use.semantic_tokens, hydration.use.semantic_entities) == (
        "test-embedder",
        200,
        2,
    )


async def test_where_no_model_is_configured_words_fill_the_room_and_nothing_is_degraded() -> None:
    world = World(
        embedder=HashingEmbedder(model=EmbeddingModel(name="none", dimensions=0)), keywords=MemoryKeywords({"1": 0.62})
    )
    world.index.chunks = {"1": ("log.go::WriteLine",)}
    hydration = await world.turn("Add logging to auth.go")
    assert reasons(hydration)["log.go::WriteLine"] == ("keyword:0.62",)
    assert (hydration.warnings, hydration.reports, hydration.model) == ((), (), None)
    assert world.calls["similar"] == 0


async def test_where_words_find_nothing_either_anchors_alone_are_shown() -> None:
    world = World(options=HydrationOptions(threshold=0.995))
    hydration = await world.turn(FIX)
    assert keys(hydration) == ["auth.go::ValidateToken", "auth.go::Login"]
    assert codes(hydration) == [WarningCode.NO_SEMANTIC_CANDIDATES]
    assert world.calls["at_chunks"] == 0


@pytest.mark.parametrize(
    "options", [HydrationOptions(semantic=False), with_limits(semantic_tokens=0), with_limits(semantic_entities=0)]
)
async def test_without_semantic_ranking_neither_model_nor_words_are_asked(options: HydrationOptions) -> None:
    world = World(options=options)
    hydration = await world.turn(FIX)
    assert keys(hydration) == ["auth.go::ValidateToken", "auth.go::Login"]
    assert (world.embedder.queries, hydration.warnings, hydration.reports, hydration.model) == ([], (), (), None)
    assert (world.calls["similar"], world.calls["find_chunks_full_text"]) == (0, 0)


@pytest.mark.parametrize("budget", [{"max_entities": 2}, {"max_tokens": 200}])
async def test_where_anchors_leave_no_room_similarity_orders_what_comes_along_and_words_are_not_asked(
    budget: dict[str, int],
) -> None:
    world = World(options=with_limits(**budget))
    world.index.kept = [Kept(entity=VALIDATE, score=0.8), Kept(entity=LOGIN, score=0.9), Kept(entity=SIGN, score=0.99)]
    hydration = await world.turn(FIX)
    assert keys(hydration) == ["auth.go::Login", "auth.go::ValidateToken"]
    assert (hydration.warnings, world.calls["similar"], world.calls["find_chunks_full_text"]) == ((), 1, 0)


async def test_where_what_is_named_leaves_no_room_nothing_similar_is_looked_for() -> None:
    world = World(options=with_limits(max_entities=1))
    hydration = await world.turn("what does `ValidateToken` do")
    assert keys(hydration) == ["auth.go::ValidateToken"]
    assert (world.calls["similar"], world.calls["find_chunks_full_text"]) == (0, 0)


async def test_enough_is_asked_for_that_anchors_can_be_left_out() -> None:
    many = [Kept(entity=ref(f"auth.go::F{number}", 1, position=number), score=0.99) for number in range(40)]
    others = [Kept(entity=ref(f"other{number}.go::G{number}", 1), score=0.8) for number in range(9)]
    world = World(index=MemoryIndex(*many, *others), options=with_limits(max_entities=50, semantic_entities=8))
    hydration = await world.turn(FIX)
    assert (len(hydration.entities), hydration.use.semantic_entities) == (48, 8)
    assert world.index.similar_limits == [40 + 2 * 8]


async def test_anchors_that_do_not_fit_are_listed_warned_of_logged_and_recorded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    index = MemoryIndex(
        ref("auth.go::validateToken", 3000, head=100, position=0),
        ref("auth.go::checkPermissions", 3000, head=100, position=1),
        ref("auth.go::login", 2000, head=1000, position=2),
    )
    world = World(index=index, options=with_limits(max_tokens=4000))
    with caplog.at_level(logging.DEBUG, logger="ragcorp"):
        hydration = await world.turn("Fix auth bug in auth.go SECRET")
    assert [(item.planned.tokens, item.shown) for item in hydration.entities] == [
        (3000, "the text of auth.go::validateToken"),
        (100, "the head of auth.go::checkPermissions"),
    ]
    assert [(item.entity.key, item.budget) for item in hydration.dropped] == [("auth.go::login", DropReason.TOKENS)]
    assert WarningCode.ANCHOR_CUT in codes(hydration)
    assert WarningCode.ANCHOR_DROPPED in codes(hydration)
    dropped = [record for record in caplog.records if record.levelno == logging.WARNING and "dropped" in record.message]
    assert [record.message.endswith("tokens, budget of tokens)") for record in dropped] == [True]
    assert "auth.go" not in caplog.text
    assert "3 anchors, 0 candidates (top score 0.00), 2 entities, 3100 of 4000 tokens" in caplog.text
    assert "SECRET" not in caplog.text
    (recorded,) = world.episodes.turns["default", "ann", "e"]
    assert (recorded.dropped, recorded.warnings) == (hydration.dropped, hydration.warnings)
    assert (recorded.query, recorded.entities, recorded.use, recorded.model) == (
        "Fix auth bug in auth.go SECRET",
        hydration.entities,
        hydration.use,
        "test-embedder",
    )


async def test_of_two_files_the_one_that_was_shown_before_is_anchored_and_that_is_said() -> None:
    index = MemoryIndex(ref("a/auth.go::Login"), ref("b/auth.go::Login"))
    world = World(index=index, options=HydrationOptions(semantic=False))
    hydration = await world.turn("What does auth.go do?", episode_id="fresh")
    assert (keys(hydration), codes(hydration)) == (["a/auth.go::Login"], [WarningCode.AMBIGUOUS_MENTION])
    await world.turn("Fix b/auth.go")
    again = await world.turn("What does auth.go do?")
    assert (keys(again), codes(again)) == (["b/auth.go::Login"], [WarningCode.AMBIGUOUS_MENTION])


async def test_a_similarity_below_zero_is_shown_as_none() -> None:
    world = World(index=MemoryIndex(Kept(entity=COOK, score=-0.2)), options=HydrationOptions(threshold=-0.5))
    (shown,) = (await world.turn("¿Y qué más?")).entities
    assert (shown.planned.reasons, shown.planned.priority) == (("semantic:0.00",), 0)


async def test_what_vanished_meanwhile_is_left_out_and_positions_close_up() -> None:
    world = World()
    world.index.gone = {"auth.go::ValidateToken", "token.go::SignToken"}
    hydration = await world.turn(FIX)
    assert [(item.planned.position, item.planned.entity.key) for item in hydration.entities] == [
        (1, "auth.go::Login"),
        (2, "pay.go::ChargeCard"),
    ]
    assert (hydration.use.tokens, hydration.use.semantic_tokens) == (200, 100)


async def test_two_turns_at_the_same_time_are_both_recorded() -> None:
    world = World()
    turns = await asyncio.gather(*(world.turn(FIX) for _ in range(2)))
    assert sorted(item.turn or 0 for item in turns) == [1, 2]


@pytest.mark.parametrize(
    ("query", "lookups"),
    [
        ("¿Y qué más?", {"hydrated"}),
        ("¿Qué hay de nuevo?", {"hydrated", "files", "named"}),
        (FIX, {"hydrated", "files", "named", "of_documents"}),
        ("What does ValidateToken() do?", {"hydrated", "named", "neighbours"}),
    ],
)
async def test_a_first_turn_makes_the_calls_that_it_needs(query: str, lookups: set[str]) -> None:
    world = World()
    await world.turn(query)
    assert world.calls == Counter([*lookups, "similar", "texts", "record"])


async def test_a_later_turn_with_all_of_it_makes_thirteen_calls() -> None:
    index = stored()
    section = ref("guide.md#Login steps", kind=EntityKind.SECTION)
    inner = ref("guide.md#Details", kind=EntityKind.SECTION, container=section.key)
    index = MemoryIndex(*index.kept, section, inner, ref("cook.py::supper"))
    world = World(index=index, options=HydrationOptions(threshold=0.999), keywords=MemoryKeywords({"1": 0.5}))
    query = 'What does SignToken() do for supper in auth.go, as the section "Login steps" says?'
    first = await world.turn(query)
    before = world.calls
    second = await world.turn(query)
    assert (first.turn, second.turn) == (1, 2)
    assert world.calls - before == Counter(
        [
            *("files", "named", "hydrated", "known", "of_documents", "document_frequencies", "within", "neighbours"),
            *("similar", "find_chunks_full_text", "at_chunks", "texts", "record"),
        ]
    )


@pytest.mark.parametrize(("chunks", "anchored"), [(10, True), (11, False)])
async def test_a_plain_word_is_a_name_only_where_it_is_rare(chunks: int, *, anchored: bool) -> None:
    world = World(
        index=MemoryIndex(ref("cook.py::supper")),
        frequencies=MemoryFrequencies(chunks),
        options=HydrationOptions(semantic=False),
    )
    assert (keys(await world.turn("Fix the supper bug")) == ["cook.py::supper"]) is anchored


async def test_filters_that_no_document_passes_are_a_turn_that_shows_nothing() -> None:
    world = World()
    elsewhere = await world.turn(FIX, filters=where(collection="memory"))
    assert (elsewhere.entities, elsewhere.reports, elsewhere.turn) == ((), (), 1)
    lacking = await world.turn(FIX, filters=where(session="s"))
    assert (lacking.entities, out(lacking), lacking.turn) == ((), {"structure": "filter:session"}, 2)
    assert set(world.calls) == {"record"}
