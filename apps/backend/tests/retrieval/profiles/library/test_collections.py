"""Profile collections end to end: artifacts and their chunks, one result an artifact, with its neighbours."""

from __future__ import annotations

import pytest

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.requests import SearchResponse
from ragcorp.interface.library.rag import Rag
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

SECTIONS = ("uno", "dos", "tres", "cuatro", "cinco", "seis")


def section(number: int, word: str) -> str:
    return f"## Apartado {number}\n\n" + " ".join([f"{word}palabra", "relleno de la sección para que sea larga."] * 7)


SIX_CHUNKS = "\n\n".join(section(number, word) for number, word in enumerate(SECTIONS))


async def six(open_rag: OpenRag) -> Rag:
    rag: Rag = await open_rag(chunk_max_tokens=128, chunk_overlap_tokens=0)
    await rag.ingest_text("seis.md", SIX_CHUNKS, title="Seis apartados")
    await rag.ingest_text("otro.md", "Un documento de otra cosa.")
    await rag.embed_pending()
    document = await rag.document("seis.md")
    assert document.chunks == 6
    return rag


def of(response: SearchResponse, external_id: str) -> list[tuple[str, int]]:
    return [
        (hit.chunk.collection, hit.chunk.chunk_index) for hit in response.hits if hit.chunk.external_id == external_id
    ]


async def test_an_artifact_in_both_collections_appears_once_as_the_chunk(open_rag: OpenRag) -> None:
    rag = await six(open_rag)
    response = await rag.search("trespalabra", profile="collections", explain=True)
    assert not response.degraded
    assert of(response, "seis.md") == [("artifact_chunks", 2)]
    (hit,) = [hit for hit in response.hits if hit.chunk.external_id == "seis.md"]
    assert hit.collections == ("artifact_chunks", "artifacts")
    duplicates = hit.steps["deduplication"]["duplicates"]
    assert {item["collection"] for item in duplicates} == {"artifact_chunks", "artifacts"}  # type: ignore[attr-defined]
    assert all(isinstance(item["score"], float) for item in duplicates)  # type: ignore[attr-defined]
    counted = {step.step: (step.before, step.removed) for step in response.steps}
    assert counted["deduplication"][1] > 0


async def test_words_that_stand_in_different_chunks_find_the_artifact(open_rag: OpenRag) -> None:
    rag = await six(open_rag)
    response = await rag.search("unopalabra seispalabra", profile="collections")
    assert len(of(response, "seis.md")) == 1
    assert response.hits[0].chunk.external_id == "seis.md"


@pytest.mark.parametrize(
    ("word", "shown"),
    [("trespalabra", [1, 2, 3]), ("unopalabra", [0, 1]), ("seispalabra", [4, 5])],
    ids=["middle", "first", "last"],
)
async def test_a_chunk_expands_to_its_neighbours_and_ends_do_not_break(
    open_rag: OpenRag, word: str, shown: list[int]
) -> None:
    rag = await six(open_rag)
    response = await rag.search(word, mode="sparse", expand_neighbors=1)
    text = response.hits[0].chunk.content
    assert text.count("[CHUNK BOUNDARY]") == len(shown) - 1
    parts = text.split("\n[CHUNK BOUNDARY]\n")
    assert [f"{SECTIONS[number]}palabra" in part for number, part in zip(shown, parts, strict=True)] == [True] * len(
        shown
    )
    whole = await rag.search(word, mode="sparse", expand_neighbors=5)
    assert whole.hits[0].chunk.content.count("[CHUNK BOUNDARY]") == 5
    assert [(step.step, step.parameters) for step in response.steps] == [("neighbour_expansion", {"distance": 1})]
    plain = await rag.search(word, mode="sparse")
    assert plain.steps == ()
    assert "[CHUNK BOUNDARY]" not in plain.hits[0].chunk.content
    assert whole.hits[0].chunk.line_start <= plain.hits[0].chunk.line_start


async def test_a_search_that_no_source_can_filter_is_refused_with_the_remedy(open_rag: OpenRag) -> None:
    rag = await six(open_rag)
    with pytest.raises(InvalidInputError) as caught:
        await rag.search("palabra", mode="hybrid", filters={"session": "s-1"})
    assert caught.value.field == "filters"
    assert "profile" in str(caught.value.remedy)


async def test_an_unknown_profile_names_those_that_there_are(open_rag: OpenRag) -> None:
    rag: Rag = await open_rag()
    with pytest.raises(InvalidInputError) as caught:
        await rag.search("palabra", profile="todo")
    profiles = "code, collections, dense, everything, files, grep, hybrid, linear, memory, sparse, vectors"
    assert caught.value.limit == profiles
