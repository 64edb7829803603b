"""An explained search: its scores can be added up by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from ragcorp.domain.search.requests import SearchResponse
from ragcorp.main.wiring.base import Parts
from support.models.embedders import BrokenEmbedder, HashingEmbedder
from support.retrieval.corpus import CONTRACTS, OpenRag, fill
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

TEXTS = {
    **CONTRACTS,
    "plazos.md": "El plazo de entrega es de 30 días; vencido el plazo, corre la multa. " + "Plazo. " * 20,
    "pagos.md": "El pago se hace a 30 días de la factura FA-0012-00004567, expediente REQ-2024-001.",
    "largo.md": "La entrega de los contratos. " * 12,
}
QUESTIONS = (
    "¿Cuál es el plazo de entrega?",
    "contrato con Acme, expediente REQ-2024-001",
    "REQ 2024 001",
    "FA-0012-00004567",
    "multa zanahoria a 30 días",
    "contrto de entrgea",
    "nada de esto existe: zzyzx",
)
FIFTH = {"source": "full_text", "score_type": "evidence_share", "minimum": 0.2}


def require_sums(response: SearchResponse, *, linear: bool) -> None:
    """Add everything up by hand, from what the explanation shows and nothing else."""
    explained = response.explanation
    assert explained is not None
    weights = explained["weights"]
    assert isinstance(weights, dict)
    assert isinstance(explained["rank_constant"], int)
    for hit in response.hits:
        for part in hit.sources:
            assert part.weight == weights[part.source]
            absolute = linear and part.source in ("dense", "full_text", "identifiers")
            value = part.weight * part.score if absolute else part.weight / (explained["rank_constant"] + part.rank)
            assert part.value == pytest.approx(value, abs=1e-9)
        assert hit.score == pytest.approx(math.fsum(part.value for part in hit.sources), abs=1e-9)
        require_evidence(response, hit_sources={part.source: part.score for part in hit.sources}, rank=hit.rank)


def require_evidence(response: SearchResponse, *, hit_sources: dict[str, float], rank: int) -> None:
    (hit,) = [item for item in response.hits if item.rank == rank]
    assert set(hit.evidence) == {"full_text"} & set(hit_sources)
    for source, evidence in hit.evidence.items():
        contributions = [match.contribution for match in evidence.matches]
        assert math.fsum(contributions) == pytest.approx(hit_sources[source], abs=1e-9)
        terms = explained_terms(response)
        assert all(terms[match.lexeme]["idf"] == match.idf for match in evidence.matches)
        assert all(match.tf >= 1 and match.contribution >= 0 for match in evidence.matches)


def explained_terms(response: SearchResponse) -> dict[str, dict[str, float]]:
    assert response.explanation is not None
    sources = response.explanation["sources"]
    assert isinstance(sources, Sequence)
    (terms,) = [source["terms"] for source in sources if source["source"] == "full_text"]
    return {term["lexeme"]: term for term in terms}


@pytest.mark.parametrize("method", ["rrf", "linear"])
async def test_every_score_is_the_sum_of_its_parts(open_rag: OpenRag, method: str) -> None:
    rag = await open_rag(enable_hybrid_search=True, fusion_method=method)
    await fill(rag, TEXTS)
    seen = 0
    for question in QUESTIONS:
        response = await rag.search(question, explain=True, limit=50)
        assert response.explanation is not None
        assert response.explanation["profile"] == ("linear" if method == "linear" else "hybrid")
        assert {hit.score_type for hit in response.hits} == {method}
        assert [hit.score for hit in response.hits] == sorted((hit.score for hit in response.hits), reverse=True)
        require_sums(response, linear=method == "linear")
        seen += sum(len(hit.evidence) for hit in response.hits)
    assert seen >= 5


async def test_bm25_can_be_worked_out_from_what_is_shown(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await fill(rag, TEXTS)
    for question in QUESTIONS[:5]:
        response = await rag.search(question, mode="sparse", explain=True)
        explained = response.explanation
        assert explained is not None
        assert explained["bm25"] == {"k1": 1.2, "b": 0.75}
        (notes,) = explained["sources"]  # type: ignore[misc]
        assert notes["chunks"] == len(TEXTS)
        terms = explained_terms(response)
        assert response.hits
        for hit in response.hits:
            (ranked,) = [part for part in hit.sources if part.source == "full_text"]
            assert ranked.score_type == "bm25"
            evidence = hit.evidence["full_text"]
            by_hand = 0.0
            for match in evidence.matches:
                term = terms[match.lexeme]
                frequency = term["document_frequency"]
                idf = math.log(1 + (notes["chunks"] - frequency + 0.5) / (frequency + 0.5))
                damping = 1.2 * (0.25 + 0.75 * evidence.length / notes["average_length"])
                by_hand += idf * term["similarity"] * match.tf * 2.2 / (match.tf + damping)
            assert ranked.score == pytest.approx(by_hand, abs=1e-8)


async def test_a_lexeme_that_stands_often_is_counted_exactly(open_rag: OpenRag) -> None:
    """A posting holds a frequency up to 14: more is looked up."""
    rag = await open_rag()
    await fill(rag, TEXTS)
    response = await rag.search("plazo", mode="sparse", explain=True)
    assert [(match.lexeme, match.tf) for match in response.hits[0].evidence["full_text"].matches] == [
        ("plaz", 23)
    ]  # once in its name


async def test_explain_shows_the_formula_and_what_each_source_did(open_rag: OpenRag) -> None:
    rag = await open_rag(enable_hybrid_search=True, rrf_k=30)
    await fill(rag, CONTRACTS)
    assert (await rag.search("Acme")).explanation is None
    assert all(hit.evidence == {} for hit in (await rag.search("Acme")).hits)
    explanation = (await rag.search("Acme", explain=True, weights={"dense": 2.0})).explanation
    assert explanation is not None
    assert explanation["rank_constant"] == 30
    assert explanation["weights"] == {"dense": 2.0, "full_text": 1.0, "identifiers": 3.0, "all_words": 1.0}
    assert "rank_constant + rank" in str(explanation["formula"])
    assert [(item["source"], item["outcome"], item["hits"], item["cut"]) for item in explanation["sources"]] == [  # type: ignore[index,attr-defined]
        ("dense", "ok", 3, False),
        ("full_text", "ok", 1, False),
    ]
    assert explanation["thresholds"] == [FIFTH]
    alone = (await rag.search("Acme", explain=True, mode="dense")).explanation
    assert alone is not None
    assert (alone["rank_constant"], alone["profile"]) == (None, "dense")
    assert (alone["weights"], alone["thresholds"]) == ({}, [])


async def test_explain_shows_only_weights_and_thresholds_that_were_applied(open_rag: OpenRag) -> None:
    embedder = BrokenEmbedder(queries=False, passages=False)
    grafo = ScriptedSource(name="grafo", error=KeyError())
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=embedder, sources={"grafo": grafo}))
    await fill(rag, CONTRACTS)
    ours = {"full_text": 1.0, "identifiers": 3.0, "all_words": 1.0}
    question = "contrato Acme zanahoria"
    two = (await rag.search(question, explain=True, weights={"grafo": 3.0})).explanation
    assert two is not None
    # a source is out: each bit of evidence of the others counts
    assert (two["weights"], two["thresholds"]) == ({"dense": 1.0, **ours}, [])
    grafo.error = None
    three = (await rag.search(question, explain=True, weights={"grafo": 3.0})).explanation
    assert three is not None
    assert three["weights"] == {"dense": 1.0, **ours, "grafo": 3.0}
    assert three["thresholds"] == [FIFTH]
    embedder.queries_fail = True
    # another question: the vector of the first is cached
    out = (await rag.search(f"{question} naranja", explain=True, weights={"grafo": 3.0})).explanation
    assert out is not None
    assert (out["weights"], out["thresholds"]) == ({**ours, "grafo": 3.0}, [])


@pytest.mark.parametrize("flag", [False, True])
async def test_what_holds_less_than_a_fifth_of_the_evidence_is_left_out_of_the_fusion(
    open_rag: OpenRag, flag: bool
) -> None:
    embedder = BrokenEmbedder(queries=False, passages=False) if flag else HashingEmbedder()
    rag = await open_rag(enable_hybrid_search=True, parts=Parts(embedder=embedder))
    await fill(rag, {**CONTRACTS, **{f"{n}.md": f"Contrato número {n} de otra cosa." for n in range(20)}})
    question = "expediente zanahoria calabaza pepino lechuga contrato"
    if flag:
        assert isinstance(embedder, BrokenEmbedder)
        embedder.passages_fail = True
        await rag.ingest_text("pendiente.md", "Sin vector.")
    sparse = await rag.search(question, mode="sparse", limit=50)
    fused = await rag.search(question, limit=50)
    listed = [hit.chunk.id for hit in fused.hits if "full_text" in {part.source for part in hit.sources}]
    assert len(sparse.hits) >= 22
    # where vectors are pending, each bit of evidence counts
    assert len(listed) == (len(sparse.hits) if flag else 0)
