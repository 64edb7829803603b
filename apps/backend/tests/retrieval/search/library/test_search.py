"""Searching through the library: flags, overrides, degradation."""

from __future__ import annotations

import asyncio
import dataclasses
import logging

import pytest

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import AllSourcesFailedError, InvalidInputError
from ragcorp.main.wiring.base import Parts
from support.models.embedders import BrokenEmbedder, HashingEmbedder
from support.retrieval.corpus import CONTRACTS, GivenVectors, OpenRag, asked, break_full_text, degraded, fill, shown
from support.storage.stored import towards

pytestmark = pytest.mark.anyio


class SlowQueries(HashingEmbedder):
    async def embed_query(self, text: str) -> Vector:
        await asyncio.sleep(60)
        raise AssertionError


# flags


async def test_off_asks_the_dense_source_alone_and_on_asks_both(open_rag: OpenRag) -> None:
    off, on = await open_rag(), await open_rag(enable_hybrid_search=True)
    await fill(off, CONTRACTS)
    plain, fused = await off.search("contrato Acme"), await on.search("contrato Acme")
    assert (plain.mode_used, asked(plain)) == ("dense", ["dense"])
    assert (fused.mode_used, asked(fused)) == ("hybrid", ["dense", "full_text"])
    assert plain.hits[0].score_type == "cosine_similarity"
    assert plain.hits[0].score == plain.hits[0].sources[0].score
    assert fused.hits[0].score_type == "rrf"
    assert [(part.source, part.rank, part.weight) for part in fused.hits[0].sources] == [
        ("dense", 1, 1.0),
        ("full_text", 1, 1.0),
        ("all_words", 1, 1.0),
    ]
    assert fused.hits[0].score == pytest.approx(3 / 61)
    assert not plain.degraded
    assert not fused.degraded
    # the schema is the same in every mode
    assert [field.name for field in dataclasses.fields(plain)] == [field.name for field in dataclasses.fields(fused)]


@pytest.mark.parametrize("flag", [False, True])
async def test_a_request_overrides_the_flag(open_rag: OpenRag, flag: bool) -> None:
    rag = await open_rag(enable_hybrid_search=flag)
    await fill(rag, CONTRACTS)
    for mode, sources in (("dense", ["dense"]), ("sparse", ["full_text"]), ("hybrid", ["dense", "full_text"])):
        response = await rag.search("Acme", mode=mode)
        assert (response.mode_used, asked(response)) == (mode, sources)
        assert shown(response)[0] == "acme.md"
    assert (await rag.search("Acme")).mode_used == ("hybrid" if flag else "dense")
    with pytest.raises(InvalidInputError):
        await rag.search("Acme", mode="both")


async def test_without_a_fusion_service_dense_answers_and_one_warning_says_so(
    open_rag: OpenRag, caplog: pytest.LogCaptureFixture
) -> None:
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=HashingEmbedder(), fusion=None))
    await fill(rag, CONTRACTS)
    with caplog.at_level(logging.WARNING, logger="ragcorp"):
        for _ in range(3):
            response = await rag.search("contrato Acme")
            assert (response.mode_used, asked(response)) == ("dense", ["dense"])
    assert len([record for record in caplog.records if "no fusion service" in record.message]) == 1


async def test_acme_corporation_ranks_first_with_hybrid_on(open_rag: OpenRag) -> None:
    """ADR-012: the name is far from the question in the vector space, and stands in the text."""
    embedder = GivenVectors({"Acme": towards(-0.5), "Beta": towards(0.9), "comedor": towards(0.99)})
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=embedder))
    await fill(rag, CONTRACTS)
    assert shown(await rag.search("Acme Corporation", mode="dense")) == ["menu.md", "otra.md", "acme.md"]
    fused = await rag.search("Acme Corporation")
    assert shown(fused)[0] == "acme.md"
    assert fused.hits[0].score == pytest.approx(1 / 63 + 2 / 61)


# degradation


async def test_a_full_text_that_fails_leaves_dense_and_is_named(open_rag: OpenRag, owner_dsn: str) -> None:
    rag = await open_rag(enable_hybrid_search=True)
    await fill(rag, CONTRACTS)
    await break_full_text(owner_dsn)
    response = await rag.search("contrato Acme")
    assert (response.mode_used, degraded(response)) == ("dense", {"full_text": "schema"})
    assert shown(response)[0] == "acme.md"
    assert response.hits[0].score_type == "cosine_similarity"
    with pytest.raises(AllSourcesFailedError):
        await rag.search("contrato Acme", mode="sparse")


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize(
    ("embedder", "reason"),
    [(None, "no_embedder"), (BrokenEmbedder(passages=False), "unreachable"), (SlowQueries(), "timeout")],
    ids=["none", "down", "hangs"],
)
async def test_where_dense_cannot_answer_full_text_does_whatever_the_flag(
    open_rag: OpenRag, embedder: HashingEmbedder | None, reason: str, flag: bool
) -> None:
    rag = await open_rag(enable_hybrid_search=flag, source_timeout_seconds=0.5, parts=Parts(embedder=embedder))
    await fill(rag, CONTRACTS)
    response = await rag.search("Acme")
    assert (response.mode_used, degraded(response)) == ("sparse", {"dense": reason})
    assert shown(response) == ["acme.md"]
    assert response.hits[0].score_type == "bm25"
    assert not (await rag.search("Acme", mode="sparse")).degraded


@pytest.mark.parametrize("flag", [False, True])
async def test_chunks_that_wait_for_vectors_are_found_by_text(open_rag: OpenRag, flag: bool) -> None:
    embedder = BrokenEmbedder(queries=False)
    rag = await open_rag(enable_hybrid_search=flag, parts=Parts(embedder=embedder))
    await fill(rag, CONTRACTS)
    waiting = await rag.search("Acme")
    assert (waiting.mode_used, degraded(waiting)) == ("sparse", {"dense": "vectors_pending"})
    assert shown(waiting) == ["acme.md"]
    embedder.passages_fail = False
    await rag.embed_pending()
    whole = await rag.search("Acme")
    assert (whole.mode_used, degraded(whole)) == ("hybrid" if flag else "dense", {})
    assert len(whole.hits) == 3
    embedder.passages_fail = True
    await rag.ingest_text("nuevo.md", "Acme Corporation vuelve.")
    half = await rag.search("Acme")
    assert (half.mode_used, degraded(half)) == ("hybrid", {"dense": "vectors_pending"})
    assert set(shown(half)) == {*CONTRACTS, "nuevo.md"}


async def test_no_source_left_is_an_error_and_never_an_empty_answer(open_rag: OpenRag, owner_dsn: str) -> None:
    rag = await open_rag(parts=Parts(embedder=BrokenEmbedder(passages=False)))
    await fill(rag, CONTRACTS)
    await break_full_text(owner_dsn)
    for mode in ("dense", "sparse", "hybrid"):
        with pytest.raises(AllSourcesFailedError) as caught:
            await rag.search("Acme", mode=mode)
        assert "full_text:schema" in caught.value.reason
    with pytest.raises(AllSourcesFailedError):
        await rag.ask("¿Quién firma con Acme?")
