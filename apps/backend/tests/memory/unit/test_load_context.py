"""Loading the memory context: what is asked for, the bounds, and what becomes of failures."""

from __future__ import annotations

import re
import threading
import time

import pytest

from ragcorp.application.memory.load_context import DEFAULT_QUERY, NOTE, ContextLimits, LoadContext
from ragcorp.domain.exceptions import AllSourcesFailedError, InvalidInputError
from ragcorp.domain.filters import Condition
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from support.memory.conversations import MOMENT, FoundAlready, turn

pytestmark = pytest.mark.anyio

ME = Principal()


def loader(search: FoundAlready, **limits: object) -> LoadContext:
    return LoadContext(search=search, limits=ContextLimits(**limits), make_token=lambda: "0123456789abcdef")  # type: ignore[arg-type]


async def test_the_defaults_are_the_context_engines() -> None:
    search = FoundAlready()
    await loader(search).load(principal=ME)
    (request,) = search.requests
    assert (request.query, request.limit, request.profile, request.filters) == (DEFAULT_QUERY, 5, "memory", ())
    assert DEFAULT_QUERY == "recent conversations and key facts"
    assert ContextLimits().timeout_seconds == 3.0


async def test_the_context_and_its_items() -> None:
    chunks = (
        turn("Nos vemos en marzo", "Rajesh", session="familia", occurred_at=MOMENT, entities=("Goa", "<x>")),
        turn("Rajesh -> Priya: knows", id="9", collection="graph", entities=("Rajesh", "Priya")),
        turn("Priya vive en Pune", id="3", collection="memory"),
    )
    context = await loader(FoundAlready(chunks)).load("Goa", limit=3, principal=ME)
    assert context.context.split("\n")[4:7] == [
        '- Rajesh said: "Nos vemos en marzo"',
        "- Rajesh -> Priya: knows",
        "- Priya vive en Pune",
    ]
    first = context.items[0]
    assert (first.id, first.collection, first.session, first.occurred_at, first.speaker, first.entities) == (
        "7", "history", "familia", MOMENT, "Rajesh", ("Goa", "(x)"),
    )  # fmt: skip
    assert [item.score for item in context.items] == [1 / 61, 1 / 62, 1 / 63]


async def test_nothing_found_is_an_empty_context() -> None:
    context = await loader(FoundAlready()).load(principal=ME)
    assert (context.context, context.items, context.degraded) == ("", (), ())


async def test_fence_and_note_count_among_the_characters() -> None:
    chunks = tuple(turn("palabra " * 100, "Rajesh", id=str(n)) for n in range(50))
    for bound in range(500, 2000, 41):
        context = await loader(FoundAlready(chunks), max_characters=bound).load(limit=50, principal=ME)
        assert bound - 220 < len(context.context) <= bound
    assert NOTE in context.context
    assert len(context.items) == 50


async def test_the_texts_are_made_neutral_off_the_event_loop() -> None:
    threads: list[int] = []

    def token() -> str:
        threads.append(threading.get_ident())
        return "0123456789abcdef"

    load = LoadContext(search=FoundAlready((turn("hola"),)), limits=ContextLimits(), make_token=token)
    await load.load(principal=ME)
    assert threads != [threading.get_ident()]


async def test_each_request_has_a_fence_of_its_own() -> None:
    load = LoadContext(search=FoundAlready((turn("hola"),)), limits=ContextLimits())
    fences = [(await load.load(principal=ME)).context.split("\n")[0] for _ in range(20)]
    assert len(set(fences)) == 20
    assert all(re.fullmatch("MEMORY-[0-9a-f]{16}", fence) for fence in fences)


async def test_a_session_is_a_filter() -> None:
    search = FoundAlready()
    await loader(search).load(session="familia", principal=ME)
    assert search.requests[0].filters == (Condition(name="session", values=("familia",)),)


@pytest.mark.parametrize("limit", [0, -1, 51])
async def test_a_limit_out_of_range_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await loader(FoundAlready()).load(limit=limit, principal=ME)
    assert (caught.value.field, caught.value.limit) == ("limit", "1 to 50")


async def test_what_is_degraded_is_said() -> None:
    report = SourceReport(source="graph", outcome=SourceOutcome.TIMEOUT, elapsed_ms=1.0, reason="timeout")
    context = await loader(FoundAlready((turn("hola"),), reports=[report])).load(principal=ME)
    assert context.degraded == (report,)
    assert "- hola" in context.context


async def test_a_search_that_fails_is_an_error() -> None:
    with pytest.raises(AllSourcesFailedError):
        await loader(FoundAlready(error=AllSourcesFailedError("out"))).load(principal=ME)


async def test_a_search_that_hangs_is_cut() -> None:
    started = time.monotonic()
    with pytest.raises(AllSourcesFailedError) as caught:
        await loader(FoundAlready(seconds=30), timeout_seconds=0.1).load(principal=ME)
    assert caught.value.reason == "timeout"
    assert "CONTEXT_LOAD_TIMEOUT" in str(caught.value)
    assert time.monotonic() - started < 2
