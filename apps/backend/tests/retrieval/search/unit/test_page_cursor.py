"""Cursors: the offset, the moment and the reranking of a search, and of that search alone."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragcorp.application.retrieval.search.page_cursor import Position, decode, encode
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.requests import SearchRequest

HOUR = datetime(2026, 11, 28, 9, tzinfo=UTC)
ASKED = SearchRequest(query="plazo", profile="memory")


def following(*, hours: int = 0, reranked: bool = False) -> SearchRequest:
    position = Position(offset=10, moment=HOUR - timedelta(hours=hours), reranked=reranked)
    return replace(ASKED, cursor=encode(position, ASKED))


def test_a_first_page_has_no_moment_of_its_own() -> None:
    assert decode(ASKED, window=100, now=HOUR) == Position()


@pytest.mark.parametrize("reranked", [False, True])
def test_the_next_page_is_of_the_moment_of_the_first(reranked: bool) -> None:
    later = HOUR + timedelta(hours=3)
    position = decode(following(reranked=reranked), window=100, now=later)
    assert position == Position(offset=10, moment=HOUR, reranked=reranked)


@pytest.mark.parametrize("hours", [49, -49], ids=["too old", "of the far future"])
def test_a_cursor_of_another_time_is_refused(hours: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        decode(following(hours=hours), window=100, now=HOUR)
    assert (caught.value.field, caught.value.limit) == ("cursor", "two days")


@pytest.mark.parametrize("hours", [-1, -47])
def test_a_cursor_outlives_a_clock_that_is_set_back(hours: int) -> None:
    position = decode(following(hours=hours), window=100, now=HOUR)
    assert position.moment == HOUR - timedelta(hours=hours)


@pytest.mark.parametrize(
    "other", [{"query": "plazos"}, {"include_memory": True}, {"rerank": False}, {"profile": "everything"}]
)
def test_a_cursor_of_another_search_is_refused(other: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        decode(replace(following(), **other), window=100, now=HOUR)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "10", "10:x", "10:x:y:z", "-1:a:1:1", "9" * 400])
def test_garbage_is_refused(text: str) -> None:
    cursor = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=") or "A"
    with pytest.raises(InvalidInputError):
        decode(replace(ASKED, cursor=cursor), window=100, now=HOUR)


def test_an_offset_behind_the_window_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        decode(following(), window=10, now=HOUR)
