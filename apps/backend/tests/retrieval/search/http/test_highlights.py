"""The marks of results over HTTP: positions in ``text``, counted in code points."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.interface.shapes.search import SearchResults

pytestmark = pytest.mark.anyio

HOSTILE = "😀 <img onerror=alert(1)> \u202eEl plazo\u202c y los 𝒑lazos, PLAZO."


async def found(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/search", json={"query": "plazo", **fields})
    assert answer.status_code == 200, answer.text
    TypeAdapter(SearchResults).validate_python(answer.json())
    return dict(answer.json())


async def test_marks_are_positions_in_the_text_and_null_unless_asked_for(database_client: httpx.AsyncClient) -> None:
    stored = await database_client.put("/documents/a.md", json={"text": HOSTILE})
    assert stored.status_code == 201, stored.text
    (result,) = (await found(database_client, highlight=True))["results"]
    marks = [result["text"][mark["start"] : mark["end"]] for mark in result["highlights"]]
    assert marks == ["plazo", "𝒑lazos", "PLAZO"]
    (plain,) = (await found(database_client))["results"]
    assert plain["highlights"] is None


async def test_a_page_that_follows_may_ask_for_marks_that_the_first_did_without(
    database_client: httpx.AsyncClient,
) -> None:
    for number in range(3):
        await database_client.put(f"/documents/{number}.md", json={"text": f"El plazo número {number}."})
    first = await found(database_client, limit=1)
    second = await found(database_client, limit=1, cursor=first["next_cursor"], highlight=True)
    assert [result["highlights"] for result in second["results"]] == [[{"start": 3, "end": 8}]]


async def test_steps_tell_the_rank_before_and_after_them_in_their_order(database_client: httpx.AsyncClient) -> None:
    for number in range(3):
        await database_client.put(f"/documents/{number}.md", json={"text": f"El plazo número {number}."})
    results = (await found(database_client, profile="collections", explain=True))["results"]
    assert results
    for result in results:
        steps = result["steps"]
        assert list(steps) == ["describe", "deduplication", "visibility"]
        places = [place for note in steps.values() for place in (note["rank_before"], note["rank_after"])]
        assert places[1:-1:2] == places[2::2]
        assert places[-1] == result["rank"]


@pytest.mark.parametrize("value", ["yes", 1, None])
async def test_whether_to_mark_is_true_or_false(database_client: httpx.AsyncClient, value: object) -> None:
    answer = await database_client.post("/search", json={"query": "plazo", "highlight": value})
    assert answer.status_code == 422
