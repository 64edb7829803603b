"""What a turn shows becomes passages, and what was found is not repeated after it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.application.hydration.passages import hydrated_chunks, not_repeated
from ragcorp.domain.answers import final_answer
from ragcorp.domain.documents import Chunk
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.search.requests import SearchRequest
from support.hydration.shown import hydrated, turn
from support.memory.conversations import NO_PAGES, FoundAlready, Says, Spanish
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio


def found(content: str, like: Chunk) -> Chunk:
    return replace(like, id="9", content=content)


def test_an_entity_is_cited_by_its_chunk_path_and_lines() -> None:
    (chunk,) = hydrated_chunks(turn(hydrated("auth.go::login", "func login() {}", line=4)))
    assert (chunk.id, chunk.content, chunk.source_path, chunk.line_start) == ("7", "func login() {}", "auth.go", 4)
    assert (chunk.title, chunk.sensitivity, chunk.of_document) == ("Auth", Sensitivity.CONFIDENTIAL, True)
    assert hydrated_chunks(None) == ()


def test_a_cut_entity_is_its_head() -> None:
    (chunk,) = hydrated_chunks(turn(hydrated("auth.go::login", "all of it", line=1, cut=True)))
    assert chunk.content == "the head"


def test_a_chunk_that_shown_entities_hold_alone_or_together_is_left_out() -> None:
    shown = hydrated_chunks(
        turn(hydrated("a.go::two", "two\n  words", line=2), hydrated("a.go::one", "one\nword", line=1))
    )
    texts = ("one word", "two words", "one word\n\ntwo words", "word two", "two words one word", "three")
    kept = [chunk.content for chunk in not_repeated([found(text, shown[0]) for text in texts], shown)]
    assert kept == ["two words one word", "three"]


def test_another_documents_chunk_of_the_same_text_stays() -> None:
    (shown,) = hydrated_chunks(turn(hydrated("a.go::one", "one", line=1)))
    (other,) = hydrated_chunks(turn(hydrated("b.go::one", "one", line=1)))
    assert list(not_repeated([other], [shown])) == [other]
    assert list(not_repeated([other], [])) == [other]


async def test_an_answer_reads_what_is_shown_first_and_what_was_found_once() -> None:
    shown = turn(hydrated("a.go::one", "one word", line=1), hydrated("b.go::two", "two words", line=2))
    first, _ = hydrated_chunks(shown)
    search = FoundAlready([found("one word", first), found("three", first)], hydration=shown)
    says = Says(text="It is three [3].")
    answer = AnswerQuery(search=search, answerer=says, languages=Spanish(), pages=NO_PAGES, limits=AnswerLimits())
    answered = await final_answer(answer.stream(SearchRequest(query="which?", episode_id="e"), principal=ANYONE))
    ((prompt),) = says.prompts
    assert [(item.n, item.chunk.content) for item in prompt.passages] == [
        (1, "one word"),
        (2, "two words"),
        (3, "three"),
    ]
    assert answered.hydration is shown
    assert [citation.n for citation in answered.citations] == [3]
