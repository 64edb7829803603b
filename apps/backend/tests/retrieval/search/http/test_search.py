"""POST /search: the contract, the same in every mode."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.interface.shapes.search import SearchResults
from support.http.fakes import World

pytestmark = pytest.mark.anyio

RESPONSE_FIELDS = {
    "request_id",
    "mode_used",
    "degraded",
    "results",
    "next_cursor",
    "explanation",
    "facets",
    "hydration",
}
RESULT_FIELDS = {
    "id",
    "document_id",
    "external_id",
    "chunk_index",
    "collection",
    "collections",
    "artifact_type",
    "sensitivity",
    "occurred_at",
    "session",
    "speaker",
    "entities",
    "text",
    "title",
    "matched_lines",
    "highlights",
    "metadata",
    "rank",
    "score",
    "score_type",
    "sources",
    "steps",
    "citation",
}


async def put(client: httpx.AsyncClient, name: str, text: str, **fields: Any) -> None:
    answer = await client.put(f"/documents/{name}", json={"text": text, **fields})
    assert answer.status_code in (200, 201), answer.text


async def search(client: httpx.AsyncClient, query: str = "plazo", **fields: Any) -> dict[str, Any]:
    answer = await client.post("/search", json={"query": query, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.parametrize("mode", ["auto", "dense", "sparse", "hybrid"])
async def test_the_response_has_the_same_shape_in_every_mode(client: httpx.AsyncClient, mode: str) -> None:
    await put(client, "a.md", "El plazo es de 30 días.", title="Contrato", metadata={"n": 1}, path="x/a.md")
    matches = await search(client, mode=mode)
    assert set(matches) == RESPONSE_FIELDS
    TypeAdapter(SearchResults).validate_python(matches)
    (result,) = matches["results"]
    assert set(result) == RESULT_FIELDS
    assert result["citation"] == {
        "path": "x/a.md", "title": "Contrato", "line_start": 1, "line_end": 1, "page": None,
        "recognition_confidence": None,
    }  # fmt: skip
    assert result["matched_lines"] == []
    assert result["collection"] == "artifact_chunks"
    assert result["metadata"] == {"n": 1}
    assert matches["explanation"] is None
    assert matches["next_cursor"] is None


async def test_a_fused_score_is_the_sum_of_its_contributions(client: httpx.AsyncClient) -> None:
    await put(client, "a.md", "El plazo es de 30 días.")
    matches = await search(client, mode="hybrid", fusion={"rank_constant": 9, "weights": {"dense": 2.0}})
    (result,) = matches["results"]
    assert matches["mode_used"] == "hybrid"
    assert result["score_type"] == "rrf"
    by_source = {source["source"]: source["contribution"] for source in result["sources"]}
    assert by_source == {"dense": 0.2, "full_text": 0.1, "all_words": 0.1}
    assert result["score"] == pytest.approx(0.4)


async def test_explain_says_how_the_ranking_came_about(client: httpx.AsyncClient) -> None:
    await put(client, "a.md", "El plazo es de 30 días.")
    explanation = (await search(client, mode="hybrid", explain=True))["explanation"]
    assert explanation["rank_constant"] == 60
    assert {source["source"] for source in explanation["sources"]} == {"dense", "full_text"}


async def test_pages_are_slices_of_one_ranking(client: httpx.AsyncClient) -> None:
    for number in range(7):
        await put(client, f"{number}.md", f"El plazo número {number}.")
    whole = [result["id"] for result in (await search(client, limit=7))["results"]]
    paged: list[str] = []
    cursor = None
    while True:
        page = await search(client, limit=3, cursor=cursor)
        paged += [result["id"] for result in page["results"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert paged == whole


async def test_filters_take_values_lists_and_metadata(client: httpx.AsyncClient) -> None:
    await put(client, "a.md", "El plazo uno.", artifact_type="contract", metadata={"year": 2025})
    await put(client, "b.md", "El plazo dos.", artifact_type="policy", metadata={"year": 2026})
    await put(client, "c.md", "El plazo tres.", artifact_type="minutes", metadata={"year": "2026"})

    async def names(**filters: Any) -> set[str]:
        return {result["external_id"] for result in (await search(client, filters=filters))["results"]}

    assert await names(artifact_type="contract") == {"a.md"}
    assert await names(artifact_type=["contract", "policy"]) == {"a.md", "b.md"}
    assert await names(year=2026) == {"b.md"}
    assert await names(year=2026, artifact_type="minutes") == set()
    assert await names(year={"$lt": 2026}) == {"a.md"}
    assert await names(**{"$or": [{"year": "2026"}, {"$not": {"artifact_type": "policy"}}]}) == {"a.md", "c.md"}


async def test_a_distance_drops_vector_hits_from_there_on(client: httpx.AsyncClient) -> None:
    await put(client, "a.md", "El plazo es de 30 días.")
    (hit,) = (await search(client, mode="dense"))["results"]
    distance = 1 - hit["sources"][0]["score"]
    assert distance > 0.01
    assert len((await search(client, mode="dense", vector_score_threshold=distance + 0.01))["results"]) == 1
    assert (await search(client, mode="dense", vector_score_threshold=distance - 0.01))["results"] == []


async def test_a_failed_source_is_named_and_the_other_answers(client: httpx.AsyncClient, world: World) -> None:
    await put(client, "a.md", "El plazo es de 30 días.")

    async def out(*_: Any, **__: Any) -> Any:
        raise StorageUnavailableError("out", reason="timeout")

    world.repository.find_similar_chunks = out
    matches = await search(client, mode="hybrid")
    assert matches["mode_used"] == "sparse"
    assert [(d["source"], d["reason"]) for d in matches["degraded"]] == [("dense", "timeout")]
    assert len(matches["results"]) == 1


async def test_no_source_left_is_an_error_with_retry_after(client: httpx.AsyncClient, world: World) -> None:
    world.repository.fault.error = StorageUnavailableError("out", reason="unreachable")
    answer = await client.post("/search", json={"query": "plazo", "mode": "hybrid"})
    assert answer.status_code == 503
    assert answer.headers["retry-after"].isdigit()
    assert answer.json()["code"] == "all_sources_failed"
    assert answer.json()["reason"] == "dense:unreachable,full_text:unreachable"


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({}, "query", "required"),
        ({"query": ""}, "query", "empty"),
        ({"query": " \n\u200b\u00a0"}, "query", "empty"),
        ({"query": None}, "query", "string"),
        ({"query": 5}, "query", "string"),
        ({"query": ["a"]}, "query", "string"),
        ({"query": "a\u0000b"}, "query", "NUL"),
        ({"query": "a" * 2001}, "query", "2,000"),
        ({"query": "a", "limit": 0}, "limit", "greater"),
        ({"query": "a", "limit": 51}, "limit", "range"),
        ({"query": "a", "limit": "10"}, "limit", "integer"),
        ({"query": "a", "limit": 1.5}, "limit", "integer"),
        ({"query": "a", "limit": True}, "limit", "integer"),
        ({"query": "a", "limit": 10**30}, "limit", "range"),
        ({"query": "a", "mode": "magic"}, "mode", "'auto', 'dense', 'sparse' or 'hybrid'"),
        ({"query": "a", "mode": 1}, "mode", ""),
        ({"query": "a", "explain": "yes"}, "explain", "boolean"),
        ({"query": "a", "cursor": "no"}, "cursor", "cursor"),
        ({"query": "a", "cursor": "ñ"}, "cursor", "cursor"),
        ({"query": "a", "cursor": "a" * 201}, "cursor", "200"),
        ({"query": "a", "fusion": {"method": "magic"}}, "fusion.method", "'rrf' or 'linear'"),
        ({"query": "a", "syntax": "lucene"}, "syntax", "'plain' or 'websearch'"),
        ({"query": "a", "fusion": {"rank_constant": 0}}, "fusion.rank_constant", ""),
        ({"query": "a", "fusion": {"rank_window_size": 1001}}, "fusion.rank_window_size", ""),
        ({"query": "a", "fusion": {"weights": {"dense": -1}}}, "fusion.weights", ""),
        ({"query": "a", "fusion": {"weights": {"no such source": 1}}}, "fusion.weights", "dense"),
        ({"query": "a", "fusion": {"k": 1}}, "fusion", "Unknown field"),
        ({"query": "a", "fusion": []}, "fusion", ""),
        ({"query": "a", "filters": []}, "filters", ""),
        ({"query": "a", "filters": {"language": []}}, "filters", "value"),
        ({"query": "a", "filters": {"language": None}}, "filters", ""),
        ({"query": "a", "filters": {"language": [["es"]]}}, "filters", ""),
        ({"query": "a", "filters": {"year": {"gte": 5}}}, "filters", ""),
        ({"query": "a", "filters": {"occurred_at": {"gte": "ayer"}}}, "filters", "ISO 8601"),
        ({"query": "a", "filters": {"occurred_at": {"gt": "2025-01-01"}}}, "filters", "gte"),
        ({"query": "a", "filters": {f"k{n}": 1 for n in range(21)}}, "filters", "20 conditions"),
        ({"query": "a", "filters": {"k": list(range(101))}}, "filters", "100 values"),
        ({"query": "a", "filters": {"k" * 201: 1}}, "filters", "200 characters"),
        ({"query": "a", "filters": {"": 1}}, "filters", ""),
        ({"query": "a", "filters": {"a\u0000": 1}}, "filters", "NUL"),
        ({"query": "a", "filters": {"year": {"$regex": "x"}}}, "filters", "$exists"),
        ({"query": "a", "filters": {"year": {"$gt": 1, "month": 2}}}, "filters", "mixed"),
        ({"query": "a", "filters": {"$or": [{"$nor": []}]}}, "filters", "$or"),
        ({"query": "a", "filters": {"speaker": 5}}, "filters.speaker", "text"),
        ({"query": "a", "unknown": 1}, "body", "Unknown field"),
    ],
)
async def test_what_does_not_fit_names_field_and_limit(
    client: httpx.AsyncClient, world: World, body: dict[str, Any], field: str, says: str
) -> None:
    answer = await client.post("/search", json=body)
    assert answer.status_code == 422, answer.text
    problem = answer.json()
    assert problem["errors"][0]["field"].startswith(field)
    assert says in answer.text
    assert world.repository.calls == []


async def test_a_query_of_the_longest_length_is_taken(client: httpx.AsyncClient) -> None:
    assert (await client.post("/search", json={"query": "ñ" * 2000})).status_code == 200


async def test_a_large_integer_in_metadata_comes_back_whole(client: httpx.AsyncClient) -> None:
    await put(client, "a.md", "El plazo.", metadata={"big": 2**80})
    matches = await search(client)
    assert TypeAdapter(dict[str, int]).validate_python(matches["results"][0]["metadata"]) == {"big": 2**80}


async def test_v1_is_the_same_handler(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/search", json={"query": "plazo"})
    assert answer.status_code == 200
    text = (await client.get("/metrics")).text
    assert 'http_requests_total{method="POST",route="/search",status="200"} 1.0' in text
