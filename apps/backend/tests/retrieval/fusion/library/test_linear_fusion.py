"""Linear fusion over PostgreSQL: every candidate by its exact scores, worked out anew from what is stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg
import pytest
from pgvector.psycopg import register_vector

from ragcorp.domain.retrieval import Hit
from ragcorp.infrastructure.postgres.workspaces.search_statistics import PostgresSearchStatistics
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import BrokenEmbedder, HashingEmbedder
from support.retrieval.corpus import CONTRACTS, OpenRag, degraded, fill, shown
from support.retrieval.sources import ScriptedSource
from support.storage.postgres import open_database

pytestmark = pytest.mark.anyio

TEXTS = {
    "entrega.md": "El plazo de entrega de la obra es de treinta días hábiles.",
    "multa.md": "Vencido el plazo de pago corre una multa diaria del dos por ciento.",
    "obra.md": "La obra se recibe con acta; el acta lleva firma de ambas partes, y la obra queda cerrada.",
    "comedor.md": "El comedor abre de lunes a viernes.",
    "viaje.md": "Los viajes se rinden en diez días con comprobantes.",
    "acta.md": "Acta de la reunión: se trató el plazo, el plazo y otra vez el plazo.",
    "seguro.md": "El seguro de la obra vence en marzo.",
    "baja.md": "La baja del proveedor se pide por nota.",
    "nota.md": "Nota breve.",
    "codigo.md": "El expediente REQ-2024-001 trata de la obra.",
}
QUESTIONS = ("plazo de la obra", "multa por entrega tardía", "acta firma zanahoria", "comedor")


class Stored:
    """What the database holds of the corpus, and the formula of docs/retrieval.md over it."""

    def __init__(self, dsn: str, embedder: HashingEmbedder) -> None:
        self._dsn, self._embedder = dsn, embedder
        with psycopg.connect(dsn, autocommit=True) as connection:
            register_vector(connection)
            rows = connection.execute(
                "SELECT d.external_id, e.embedding, ARRAY(SELECT lexeme FROM unnest(c.lexemes) ORDER BY lexeme),"
                " ARRAY(SELECT coalesce(cardinality(positions), 1) FROM unnest(c.lexemes) ORDER BY lexeme)"
                " FROM chunks c JOIN documents d ON d.id = c.document_id"
                " JOIN chunk_embeddings e ON e.chunk_id = c.id"
            ).fetchall()
        self.vectors = {row[0]: [float(value) for value in row[1].to_list()] for row in rows}
        self.counts: dict[str, dict[str, int]] = {row[0]: dict(zip(row[2], row[3], strict=True)) for row in rows}

    def cosine(self, question: str, name: str) -> float:
        half = [math.fsum(column) / len(self.vectors) / 2 for column in zip(*self.vectors.values(), strict=True)]
        q = [a - b for a, b in zip(self._embedder.vector(question), half, strict=True)]
        p = [a - b for a, b in zip(self.vectors[name], half, strict=True)]
        return dot(q, p) / math.sqrt(dot(q, q) * dot(p, p))

    def share(self, question: str, name: str) -> float:
        lexemes = self._lexemes(question)
        lengths = {item: sum(counts.values()) for item, counts in self.counts.items()}
        average = sum(lengths.values()) / len(lengths)
        counts = self.counts[name]
        held = []
        for lexeme in lexemes:
            tf = counts.get(lexeme, 0)
            damping = 1.2 * (0.25 + 0.75 * lengths[name] / average)
            held.append(self._idf(lexeme) ** 2 * tf * 2.2 / (tf + damping))
        return math.fsum(held) / (2.2 * math.fsum(self._idf(lexeme) ** 2 for lexeme in lexemes))

    def _idf(self, lexeme: str) -> float:
        frequency = sum(lexeme in counts for counts in self.counts.values())
        return math.log(1 + (len(self.counts) - frequency + 0.5) / (frequency + 0.5))

    def _lexemes(self, question: str) -> Sequence[str]:
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            row = connection.execute("SELECT tsvector_to_array(text_lexemes('es', %s))", (question,)).fetchone()
        assert row is not None
        return list(row[0])


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


async def settled(rag: Rag, dsn: str, texts: Mapping[str, str] = TEXTS) -> None:
    """Fill the corpus and bring mean vector, frequencies and lexicon up to date."""
    await fill(rag, texts)
    async with open_database(dsn) as database:
        await PostgresSearchStatistics(database=database).refresh_if_stale("default")


@pytest.mark.parametrize("window", [100, 2])
async def test_every_candidate_of_any_list_has_its_exact_scores(
    open_rag: OpenRag, dsn: str, owner_dsn: str, window: int
) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(enable_hybrid_search=True, fusion_method="linear", parts=Parts(embedder=embedder))
    await settled(rag, dsn)
    stored = Stored(owner_dsn, embedder)
    for question in QUESTIONS:
        response = await rag.search(question, limit=50, rank_window_size=window)
        assert response.hits
        assert {hit.score_type for hit in response.hits} == {"linear"}
        for hit in response.hits:
            name = hit.chunk.external_id
            parts = {part.source: part for part in hit.sources}
            assert parts["dense"].score == pytest.approx(stored.cosine(question, name), abs=1e-6)
            assert parts["full_text"].score == pytest.approx(stored.share(question, name), abs=1e-9)
            assert (parts["dense"].score_type, parts["full_text"].score_type) == (
                "half_centred_cosine",
                "evidence_share",
            )
            assert hit.score == pytest.approx(
                stored.cosine(question, name) + 0.17 * stored.share(question, name), abs=1e-6
            )


async def test_the_order_is_that_of_the_formula_over_the_whole_corpus(
    open_rag: OpenRag, dsn: str, owner_dsn: str
) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(enable_hybrid_search=True, fusion_method="linear", parts=Parts(embedder=embedder))
    await settled(rag, dsn)
    stored = Stored(owner_dsn, embedder)
    for question in QUESTIONS:
        by_hand = sorted(TEXTS, key=lambda name: -(stored.cosine(question, name) + 0.17 * stored.share(question, name)))
        assert shown(await rag.search(question, limit=50)) == by_hand


async def test_weights_of_the_request_are_taken(open_rag: OpenRag, dsn: str) -> None:
    rag = await open_rag(enable_hybrid_search=True)
    await settled(rag, dsn)
    response = await rag.search(
        "plazo de REQ-2024-001", method="linear", weights={"full_text": 2.0, "identifiers": 5.0}, explain=True
    )
    assert response.explanation is not None
    assert response.explanation["weights"] == {"dense": 1.0, "full_text": 2.0, "identifiers": 5.0, "all_words": 0.0}
    (code,) = [part for part in response.hits[0].sources if part.source == "identifiers"]
    assert (response.hits[0].chunk.external_id, code.score, code.value) == ("codigo.md", 1.0, 5.0)


async def test_while_vectors_are_pending_ranks_are_fused(open_rag: OpenRag) -> None:
    embedder = BrokenEmbedder(queries=False, passages=False)
    rag = await open_rag(enable_hybrid_search=True, fusion_method="linear", parts=Parts(embedder=embedder))
    await fill(rag, CONTRACTS)
    whole = await rag.search("contrato Acme", explain=True)
    embedder.passages_fail = True
    await rag.ingest_text("nuevo.md", "Contrato nuevo con Acme.")
    half = await rag.search("contrato Acme", explain=True)
    assert whole.explanation is not None
    assert half.explanation is not None
    assert (whole.explanation["profile"], half.explanation["profile"]) == ("linear", "hybrid")
    assert {hit.score_type for hit in half.hits} == {"rrf"}
    assert degraded(half) == {"dense": "vectors_pending"}
    assert "nuevo.md" in shown(half)
    embedder.passages_fail = False
    await rag.embed_pending()
    assert {hit.score_type for hit in (await rag.search("contrato Acme")).hits} == {"linear"}


async def test_where_candidates_cannot_be_scored_ranks_are_fused(
    open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragcorp.domain.exceptions import StorageUnavailableError

    async def out(*_: Any, **__: Any) -> Any:
        raise StorageUnavailableError("out", reason="timeout")

    rag = await open_rag(enable_hybrid_search=True, fusion_method="linear")
    await fill(rag, CONTRACTS)
    monkeypatch.setattr("ragcorp.infrastructure.postgres.documents.scoring.PostgresChunkScoring.count_lexemes", out)
    response = await rag.search("contrato Acme")
    assert shown(response)[0] == "acme.md"
    assert {hit.score_type for hit in response.hits} == {"rrf"}


async def test_without_dense_full_text_is_the_ranking(open_rag: OpenRag) -> None:
    rag = await open_rag(
        enable_hybrid_search=True, fusion_method="linear", parts=Parts(embedder=BrokenEmbedder(passages=False))
    )
    await fill(rag, CONTRACTS)
    response = await rag.search("Acme")
    assert (response.mode_used, shown(response), response.hits[0].score_type) == ("sparse", ["acme.md"], "bm25")


async def test_pages_are_slices_of_the_ranking(open_rag: OpenRag, dsn: str) -> None:
    rag = await open_rag(enable_hybrid_search=True, fusion_method="linear")
    await settled(rag, dsn)
    whole = await rag.search("plazo de la obra", limit=50)
    assert len(whole.hits) == len(TEXTS)
    for limit in (1, 3, 7):
        pages: list[tuple[int, str, float]] = []
        cursor: str | None = None
        while True:
            page = await rag.search("plazo de la obra", limit=limit, cursor=cursor)
            pages += [(hit.rank, hit.chunk.external_id, hit.score) for hit in page.hits]
            if (cursor := page.next_cursor) is None:
                break
        assert pages == [(hit.rank, hit.chunk.external_id, hit.score) for hit in whole.hits]


async def test_a_source_of_the_users_own_counts_by_rank_and_its_chunks_by_their_exact_scores(
    make_container: Callable[..., Any], dsn: str, owner_dsn: str
) -> None:
    embedder, mine = HashingEmbedder(), ScriptedSource(name="grafo")
    container = await make_container(
        enable_hybrid_search=True, fusion_method="linear", parts=Parts(embedder=embedder, sources={"grafo": mine})
    )
    rag = make_rag(container)
    await settled(rag, dsn)
    stored = Stored(owner_dsn, embedder)
    chunks = {hit.chunk.external_id: hit.chunk for hit in (await rag.search("plazo", limit=50)).hits}
    mine.hits = (Hit(chunk_id=chunks["nota.md"].id, score=900.0), Hit(chunk_id=chunks["baja.md"].id, score=800.0))
    question = "plazo de la obra"
    response = await rag.search(question, limit=50, rank_window_size=3, weights={"grafo": 2.0})
    by_name = {hit.chunk.external_id: hit for hit in response.hits}
    everything = await rag.search(question, limit=50, weights={"grafo": 2.0})
    for name, rank in (("nota.md", 1), ("baja.md", 2)):
        (hit,) = [item for item in everything.hits if item.chunk.external_id == name]
        parts = {part.source: part for part in hit.sources}
        assert (parts["grafo"].rank, parts["grafo"].value) == (rank, 2.0 / (60 + rank))
        assert hit.score == pytest.approx(
            stored.cosine(question, name) + 0.17 * stored.share(question, name) + 2.0 / (60 + rank), abs=1e-6
        )
    for name, hit in by_name.items():
        parts = {part.source: part for part in hit.sources}
        assert parts["dense"].score == pytest.approx(stored.cosine(question, name), abs=1e-6)
