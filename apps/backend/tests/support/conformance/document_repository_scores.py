"""How a ChunkScoring scores chunks, found or not, and the scores of a DocumentRepository."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.ports.storage import EmbeddingBacklog
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import QuerySyntax
from support.conformance.stored_documents import OTHER, DocumentPorts, StoredDocuments
from support.storage.stored import ANYONE, EAST, embed_all, full_text, ids, towards, where, written

pytestmark = pytest.mark.anyio


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def half_centred(query: Vector, passage: Vector, mean: Sequence[float]) -> float:
    q = [a - b / 2 for a, b in zip(query, mean, strict=True)]
    p = [a - b / 2 for a, b in zip(passage, mean, strict=True)]
    return dot(q, p) / math.sqrt(dot(q, q) * dot(p, p))


class DocumentScores(StoredDocuments):
    async def test_bm25_ranks_rare_before_frequent_and_short_before_long(self, repository: DocumentPorts) -> None:
        await repository.save_many(
            [
                written("largo.txt", "plazo " + "relleno " * 30),
                written("corto.txt", "plazo firme"),
                written("raro.txt", "penalidad firme"),
                written("nada.txt", "casa verde"),
            ],
            principal=ANYONE,
        )
        result = await repository.find_chunks_full_text("plazo penalidad", principal=ANYONE, limit=9)
        assert result.ranked_list.score_type == "bm25"
        assert await self.external_ids(repository, result.ranked_list) == ["raro.txt", "corto.txt", "largo.txt"]
        assert (result.chunks, result.average_length) == (4, (31 + 2 + 2 + 2) / 4)
        idf = {term.lexeme: term.idf for term in result.terms}
        assert idf == {"plaz": pytest.approx(math.log(1 + 2.5 / 2.5)), "penal": pytest.approx(math.log(1 + 3.5 / 1.5))}
        saturation = 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 9.25))
        scores = [hit.score for hit in result.ranked_list]
        assert scores[:2] == pytest.approx([idf["penal"] * saturation, idf["plaz"] * saturation], abs=1e-8)
        mass = 2.2 * (idf["plaz"] ** 2 + idf["penal"] ** 2)
        assert result.ranked_list.hits[0].evidence == pytest.approx(idf["penal"] ** 2 * saturation / mass, abs=1e-8)

    async def test_unknown_words_stay_in_the_denominator_of_the_evidence(self, repository: DocumentPorts) -> None:
        await repository.save_many([written("a.txt", "plazo firme"), written("b.txt", "nada")], principal=ANYONE)
        existing = (await full_text(repository, "plazo", principal=ANYONE, limit=9)).hits[0]
        half = (await full_text(repository, "plazo zzyzx", principal=ANYONE, limit=9)).hits[0]
        assert existing.score == half.score
        assert existing.evidence is not None
        assert half.evidence is not None
        assert half.evidence < existing.evidence / 2

    async def test_identifiers_are_the_chunks_that_hold_the_code_and_no_look_alike(
        self, repository: DocumentPorts
    ) -> None:
        texts = {
            "mio.txt": "Se aprueba REQ-2024-001.",
            "otro.txt": "Se aprueba REQ-2024-010.",
            "junto.txt": "Se aprueba req2024001.",
            "largo.txt": "Se aprueba REQ-2024-0011.",
            "nada.txt": "Nada.",
        }
        await repository.save_many([written(name, text) for name, text in texts.items()], principal=ANYONE)
        for query, other_writing in (
            ("REQ-2024-001", 0.5),
            ("¿Quién aprueba REQ-2024-001?", 0.5),
            ("req 2024 001", 1.0),
        ):
            result = await repository.find_chunks_full_text(query, principal=ANYONE, limit=9)
            names = await self.external_ids(repository, result.identifiers)
            scores = dict(zip(names, [hit.score for hit in result.identifiers], strict=True))
            assert scores == {"mio.txt": 1.0, "junto.txt": other_writing}, query
        both = await repository.find_chunks_full_text("REQ-2024-001 y REQ-2024-0011", principal=ANYONE, limit=9)
        assert [hit.score for hit in both.identifiers] == [0.5, 0.5, 0.25]
        none = await repository.find_chunks_full_text("aprueba nada", principal=ANYONE, limit=9)
        assert none.identifiers.hits == ()

    async def test_all_words_are_the_chunks_that_hold_every_word(self, repository: DocumentPorts) -> None:
        texts = {"a.txt": "plazo de entrega", "b.txt": "la entrega; su plazo", "c.txt": "plazo", "d.txt": "entrega"}
        await repository.save_many([written(name, text) for name, text in texts.items()], principal=ANYONE)
        result = await repository.find_chunks_full_text("plazos de entregas", principal=ANYONE, limit=9)
        assert (result.all_words.source, result.all_words.score_type) == ("all_words", "ts_rank_cd")
        assert sorted(await self.external_ids(repository, result.all_words)) == ["a.txt", "b.txt"]
        assert len(result.ranked_list) == 4

    async def test_a_websearch_knows_operators_and_a_plain_query_none(self, repository: DocumentPorts) -> None:
        texts = {"a.txt": "plazo entrega", "b.txt": "plazo pago", "c.txt": "aval"}
        await repository.save_many([written(name, text) for name, text in texts.items()], principal=ANYONE)
        expected = {"plazo -pago": ["a.txt"], "entrega or aval": ["a.txt", "c.txt"], '"plazo pago"': ["b.txt"]}
        for query, names in expected.items():
            result = await repository.find_chunks_full_text(
                query, principal=ANYONE, limit=9, syntax=QuerySyntax.WEBSEARCH
            )
            assert result.ranked_list.score_type == "ts_rank_cd"
            assert sorted(await self.external_ids(repository, result.ranked_list)) == names, query
        plain = await full_text(repository, "plazo -pago", principal=ANYONE, limit=9)
        assert await self.external_ids(repository, plain) == ["b.txt", "a.txt"]

    async def test_half_centred_similarities_are_those_of_the_stored_vectors(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        vectors = {f"texto {n}": towards(cosine) for n, cosine in enumerate((0.9, 0.5, 0.1, -0.3))}
        await repository.save_many(
            [written(f"{n}.txt", text) for n, text in enumerate(vectors)]
            + [written("ajeno.txt", "ajeno", visibility_scope=VisibilityScope.PRIVATE, owner="ana")],
            principal=Principal(subject="ana"),
        )
        await embed_all(backlog, vectors)
        mine = [*vectors.values(), EAST]
        mean = [math.fsum(column) / len(mine) for column in zip(*mine, strict=True)]
        every = ids(
            (await repository.find_similar_chunks(EAST, principal=Principal(subject="ana"), limit=9)).ranked_list.hits
        )
        query = towards(0.7)
        asked = [str(i) for i in every]
        result = await repository.half_centred_similarities(query, [*asked, "x", "999999"], principal=ANYONE)
        contents = await repository.get_chunks(asked, principal=ANYONE)
        assert {contents[chunk_id].content: score for chunk_id, score in result.items()} == {
            text: pytest.approx(half_centred(query, vector, mean), abs=1e-6) for text, vector in vectors.items()
        }
        assert await repository.half_centred_similarities(query, asked, principal=OTHER) == {}
        assert await repository.half_centred_similarities(query, [], principal=ANYONE) == {}

    async def test_a_chunk_without_a_vector_has_no_similarity(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        await repository.save_many([written("a.txt", "uno", "aguja")], principal=ANYONE)
        (hit,) = await full_text(repository, "aguja", principal=ANYONE, limit=2)
        assert await repository.half_centred_similarities(EAST, [str(hit.chunk_id)], principal=ANYONE) == {}
        await embed_all(backlog)
        assert set(await repository.half_centred_similarities(EAST, [str(hit.chunk_id)], principal=ANYONE)) == {
            hit.chunk_id
        }

    async def test_lexemes_are_counted_exactly_however_many_there_are(self, repository: DocumentPorts) -> None:
        contents = ("aguja pajar aguja", "aguja " * 14, "aguja " * 15, "aguja " * 16 + "pajar", "aguja " * 300)
        await repository.save_many(
            [written(f"{n}.txt", text) for n, text in enumerate(contents)]
            + [written("oculto.txt", "aguja", visibility_scope=VisibilityScope.PRIVATE, owner="ana")],
            principal=Principal(subject="ana"),
        )
        every = await full_text(repository, "aguja", principal=Principal(subject="ana"), limit=9)
        assert len(every) == 6
        chunk_ids = [str(i) for i in ids(every.hits)]
        counted = await repository.count_lexemes(["paj", "aguj", "nadie"], chunk_ids, principal=ANYONE)
        chunks = await repository.get_chunks(chunk_ids, principal=ANYONE)
        seen = {
            chunks[chunk_id].external_id: (item.length, {lexeme: tf for lexeme, tf in item.counts.items() if tf})
            for chunk_id, item in counted.items()
        }
        assert seen == {
            "0.txt": (3, {"aguj": 2, "paj": 1}),
            "1.txt": (14, {"aguj": 14}),
            "2.txt": (15, {"aguj": 15}),
            "3.txt": (17, {"aguj": 16, "paj": 1}),
            "4.txt": (255, {"aguj": 255}),  # as many positions as a tsvector keeps of a lexeme
        }
        assert await repository.count_lexemes(["aguj"], chunk_ids, principal=OTHER) == {}
        lengths = await repository.count_lexemes([], chunk_ids, principal=ANYONE)
        assert {chunk_id: (item.length, item.counts) for chunk_id, item in lengths.items()} == {
            chunk_id: (item.length, {}) for chunk_id, item in counted.items()
        }

    async def test_what_was_found_besides_is_visible_and_filtered_too(self, repository: DocumentPorts) -> None:
        ana = Principal(subject="ana")
        await repository.save_many(
            [
                written("a.txt", "REQ-7 vence", metadata={"k": 1}),
                written("b.txt", "REQ-7 vence"),
                written(
                    "c.txt", "REQ-7 vence", metadata={"k": 1}, visibility_scope=VisibilityScope.PRIVATE, owner="ana"
                ),
            ],
            principal=ana,
        )
        result = await repository.find_chunks_full_text("REQ-7", principal=ANYONE, filters=where(k=1), limit=9)
        for ranked in (result.ranked_list, result.identifiers, result.all_words):
            assert await self.external_ids(repository, ranked) == ["a.txt"], ranked.source
