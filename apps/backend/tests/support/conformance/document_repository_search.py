"""How a DocumentRepository finds chunks: by vector, by words, through filters, by id and by position."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.ports.storage import DocumentSelection, EmbeddingBacklog
from ragcorp.domain.principal import Sensitivity
from support.conformance.stored_documents import OTHER, DocumentPorts, StoredDocuments
from support.models.embedders import TEST_MODEL
from support.storage.stored import ANYONE, EAST, embed_all, full_text, ids, towards, where, written

pytestmark = pytest.mark.anyio


class DocumentSearches(StoredDocuments):
    async def test_similar_chunks_come_by_cosine_and_say_it(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        cosines = {"opuesto": -1.0, "cerca": 0.96, "lejos": 0.28, "recto": 0.0, "igual": 1.0}
        await repository.save_many([written(f"{name}.txt", name) for name in cosines], principal=ANYONE)
        await embed_all(backlog, {name: towards(cosine) for name, cosine in cosines.items()})
        result = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=10)
        assert await self.contents(repository, result.ranked_list) == ["igual", "cerca", "lejos", "recto", "opuesto"]
        assert [hit.score for hit in result.ranked_list] == pytest.approx([1.0, 0.96, 0.28, 0.0, -1.0], abs=1e-6)
        assert result.ranked_list.score_type == "cosine_similarity"
        assert result.seen == 1.0

    async def test_equal_similarity_is_ordered_by_chunk_id(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        await repository.save_many([written(f"{n:02}.txt", f"texto {n}") for n in range(12)], principal=ANYONE)
        await embed_all(backlog)
        results = ids((await repository.find_similar_chunks(EAST, principal=ANYONE, limit=12)).ranked_list.hits)
        assert len(results) == 12
        assert results == sorted(results, key=lambda chunk_id: int(str(chunk_id)))

    async def test_of_equally_similar_chunks_a_filter_keeps_those_with_the_lowest_ids(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        writes = [written(f"{n:02}.txt", f"texto {n}", metadata={"keep": True}) for n in range(30)]
        await repository.save_many(writes, principal=ANYONE)
        await embed_all(backlog)
        filters = where(keep=True)
        every = ids(
            (await repository.find_similar_chunks(EAST, principal=ANYONE, filters=filters, limit=30)).ranked_list.hits
        )
        some = ids(
            (await repository.find_similar_chunks(EAST, principal=ANYONE, filters=filters, limit=7)).ranked_list.hits
        )
        assert some == every[:7]

    async def test_limit_bounds_both_channels(self, repository: DocumentPorts, backlog: EmbeddingBacklog) -> None:
        await repository.save_many([written(f"{n}.txt", f"aguja {n}") for n in range(9)], principal=ANYONE)
        await embed_all(backlog, {f"aguja {n}": towards(1 - n / 10) for n in range(9)})
        for limit in (1, 4, 9, 20):
            similar = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=limit)
            matching = await full_text(repository, "aguja", principal=ANYONE, limit=limit)
            assert len(similar.ranked_list) == len(matching) == min(limit, 9)
            assert await self.contents(repository, similar.ranked_list) == [f"aguja {n}" for n in range(min(limit, 9))]

    FINDABLE = (
        ("los PLAZOS de la entrega", "Plazo de entrega: 30 días."),
        *((query, "Se aprueba REQ-2024-001 por el comité.") for query in ("REQ 2024 001", "REQ-2024-001", "2024-001")),
        ("req2024001", "Se aprueba REQ-2024-001 por el comité."),
        ("cas456", "Ver CAS-456."),
        ("¿dias?", "Son treinta días."),
        ("https://www.acme.com/docs/guia.html", "Ver https://www.acme.com/docs/guia.html antes."),
        ("¿Cuál es el plazo máximo de entrega según el contrato?", "El plazo de entrega es de 30 días hábiles"),
        ('"Acme Corporation"', "Contrato con Acme Corporation."),
        ("'12'", "Valor 12"),
        ("aguja", "inicio " + "x" * 5000 + " fin aguja"),
    )

    async def test_full_text_finds_words_codes_and_addresses(self, repository: DocumentPorts) -> None:
        for query, content in self.FINDABLE:
            await repository.save_many(
                [written("si", content), written("no", "Nada que ver con ello.")], principal=ANYONE
            )
            result = await full_text(repository, query, principal=ANYONE, limit=10)
            assert await self.external_ids(repository, result) == ["si"], query

    async def test_a_query_without_content_words_finds_nothing(self, repository: DocumentPorts) -> None:
        await repository.save_many([written("a.txt", "de la que el contrato a")], principal=ANYONE)
        for query in ("de la que el", "", "   ", "¿?", "...", "a", "&", "-"):
            assert len(await full_text(repository, query, principal=ANYONE, limit=10)) == 0, query

    OPERATORS = (
        "a & | b <-> !! foo:* ' OR 1=1 -- \\", "'", "''", '"', '"sin cerrar', "\\", "\\'", "(", "((()", "!", "!!",
        "<->", ":*", "%", "%s", "%(query)s", "-", "http://a.com/'12'/x", "plazo'); DROP TABLE chunks; --", "x" * 2000,
        "ñ" * 2000,
        "😀", "\u200b", "\x01", "12'34", "it's -'7'", "-5 '-5'", "a OR OR b", "OR", "-or -and",
        "<b>x</b>", "&amp;",
        "\\000", "{1,2}", "$1", "E'\\x'", "file:///'1'/'-2'/ ' 3'", "1e400 -1e-400", "a@b.'1'.com", "/'1' /'1'",
    )  # fmt: skip

    async def test_operators_and_quotes_are_words_or_nothing(self, repository: DocumentPorts) -> None:
        await repository.save_many([written("a.txt", "El plazo vence.")], principal=ANYONE)
        for query in self.OPERATORS:
            await full_text(repository, query, principal=ANYONE, limit=10)
        assert len(await full_text(repository, "plazo", principal=ANYONE, limit=10)) == 1

    # filters

    async def filterable(self, repository: DocumentPorts, backlog: EmbeddingBacklog) -> UUID:
        outcomes = await repository.save_many(
            [
                written("es/uno.txt", "aguja uno", owner="ana", occurred_at=datetime(2025, 1, 10, tzinfo=UTC)),
                written(
                    "en/dos.txt",
                    "aguja dos",
                    language="en",
                    artifact_type="minutes",
                    sensitivity=Sensitivity.CONFIDENTIAL,
                    occurred_at=datetime(2025, 2, 10, tzinfo=UTC),
                    metadata={"year": 2025, "tags": ["x"], "draft": True, "ratio": 0.5},
                ),
                written(
                    "tres.txt",
                    "aguja tres",
                    visibility_scope=VisibilityScope.PRIVATE,
                    owner="local",
                    metadata={"year": "2025", "draft": False},
                ),
            ],
            principal=ANYONE,
        )
        await embed_all(backlog)
        return outcomes[0].document_id

    FILTERED = (
        ({"external_id": "es/uno.txt"}, ["uno"]),
        ({"external_id": ["es/uno.txt", "tres.txt", "nadie"]}, ["uno", "tres"]),
        ({"language": "en"}, ["dos"]),
        ({"language": ["en", "es"]}, ["uno", "dos", "tres"]),
        ({"artifact_type": "minutes"}, ["dos"]),
        ({"sensitivity": "confidential"}, ["dos"]),
        ({"sensitivity": ["normal", "restricted"]}, ["uno", "tres"]),
        ({"visibility_scope": "private"}, ["tres"]),
        ({"owner": "ana"}, ["uno"]),
        ({"occurred_at": {"gte": "2025-02-10T00:00:00Z"}}, ["dos"]),
        ({"occurred_at": {"lt": "2025-02-10T00:00:00Z"}}, ["uno"]),
        ({"occurred_at": {"gte": "2025-01-10T01:00:00+01:00", "lt": "2025-02-10T00:00:00.000001Z"}}, ["uno", "dos"]),
        ({"year": 2025}, ["dos"]),
        ({"year": "2025"}, ["tres"]),
        ({"year": [2025, "2025"]}, ["dos", "tres"]),
        ({"draft": True}, ["dos"]),
        ({"draft": False}, ["tres"]),
        ({"ratio": 0.5}, ["dos"]),
        ({"tags": "x"}, []),
        ({"nadie": "x"}, []),
        ({"language": "en", "year": 2025, "artifact_type": "minutes"}, ["dos"]),
        ({"language": "es", "year": 2025}, []),
        ({"year": {"$gte": 2025}}, ["dos"]),
        ({"year": {"$gt": "2024", "$lte": "2025"}}, ["tres"]),
        ({"year": {"$ne": 2025}}, ["uno", "tres"]),
        ({"year": {"$exists": False}, "occurred_at": {"$lte": "2025-01-10"}}, ["uno"]),
        ({"occurred_at": {"$exists": False}}, ["tres"]),
        ({"$not": {"occurred_at": {"$lt": "2025-02-10"}}}, ["dos", "tres"]),
        ({"sensitivity": {"$gt": "normal"}}, ["dos"]),
        ({"$or": [{"language": "en"}, {"draft": False}, {"external_id": "x"}]}, ["dos", "tres"]),
        ({"$not": {"$or": [{"language": "en"}, {"draft": False}]}}, ["uno"]),
        ({"$or": [{"collection": ["artifacts", "artifact_chunks"]}, {"owner": "x"}], "owner": "ana"}, ["uno"]),
        ({"collection": ["artifacts", "artifact_chunks"]}, ["uno", "dos", "tres"]),
        ({"collection": "memory"}, []),
        ({"autor' = 'x' OR '1'='1' --": "y"}, []),
        ({"autor' = 'x' OR '1'='1' --": {"$gt": "' OR true --"}}, []),
        ({'%s") OR true --': "%(x)s"}, []),
    )

    async def test_filters_mean_the_same_to_both_channels_and_to_the_list(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        await self.filterable(repository, backlog)
        for given, expected in self.FILTERED:
            filters = where(**given)
            page = await repository.list_page(DocumentSelection(filters=filters), principal=ANYONE, limit=9)
            listed = sorted(item.external_id.rpartition("/")[2] for item in page.items)
            similar, matching = await self.both(repository, filters)
            assert sorted(similar) == sorted(matching) == sorted(f"aguja {name}" for name in expected), given
            assert listed == sorted(f"{name}.txt" for name in expected), given

    async def test_the_filter_document_id_names_one_document(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        document_id = await self.filterable(repository, backlog)
        filters = where(document_id=[str(document_id), "00000000-0000-4000-8000-000000000000"])
        similar = (await repository.find_similar_chunks(EAST, principal=ANYONE, filters=filters, limit=9)).ranked_list
        matching = await full_text(repository, "aguja", principal=ANYONE, filters=filters, limit=9)
        assert await self.contents(repository, similar) == await self.contents(repository, matching) == ["aguja uno"]

    async def test_a_selective_filter_still_fills_the_limit(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        """The chunks that pass are the farthest of all: an index scan alone would give up long before them."""
        near = [written(f"cerca/{n}.txt", f"cerca {n}") for n in range(300)]
        far = [written(f"lejos/{n}.txt", f"lejos {n}", metadata={"kind": "rare"}) for n in range(6)]
        await repository.save_many([*near, *far], principal=ANYONE)
        vectors = {f"lejos {n}": towards(-0.9 - n / 100) for n in range(6)}
        await embed_all(backlog, vectors)
        result = await repository.find_similar_chunks(EAST, principal=ANYONE, filters=where(kind="rare"), limit=5)
        assert await self.contents(repository, result.ranked_list) == [f"lejos {n}" for n in range(5)]

    async def test_ids_of_no_chunk_are_passed_over(self, repository: DocumentPorts) -> None:
        await repository.save_many([written("a.txt", "aguja")], principal=ANYONE)
        (hit,) = await full_text(repository, "aguja", principal=ANYONE, limit=2)
        for chunk_id in ("", "x", "-1", "0", "999999999", "9" * 40, "1.5", "1; DROP", "٣", "\x00"):
            results = await repository.get_chunks([chunk_id, str(hit.chunk_id)], principal=ANYONE)
            assert list(results) == [hit.chunk_id]

    async def test_positions_lead_to_chunk_ids(self, repository: DocumentPorts) -> None:
        (outcome,) = await repository.save_many([written("a.txt", "aguja", "pajar")], principal=ANYONE)
        (hit,) = await full_text(repository, "pajar", principal=ANYONE, limit=2)
        here, nowhere = (outcome.document_id, 1), UUID(int=7)
        asked = [here, (outcome.document_id, 2), (outcome.document_id, -1), (outcome.document_id, 2**40), (nowhere, 0)]
        assert await repository.find_chunk_ids(asked, principal=ANYONE) == {here: hit.chunk_id}
        assert await repository.find_chunk_ids([here], principal=OTHER) == {}
        assert await repository.find_chunk_ids([], principal=ANYONE) == {}

    async def test_seen_is_the_share_of_the_chunks_that_have_a_vector(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        empty = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=5)
        assert (len(empty.ranked_list), empty.seen) == (0, 1.0)
        await repository.save_many([written("a.txt", "uno", "dos")], principal=ANYONE)
        waiting = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=5)
        assert (len(waiting.ranked_list), waiting.seen) == (0, 0.0)
        assert (await repository.get("a.txt", principal=ANYONE)).pending == 2
        (item,) = await backlog.claim(limit=1, lease_seconds=0)
        await backlog.complete({item: EAST}, model=TEST_MODEL)
        half = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=5)
        assert (len(half.ranked_list), half.seen) == (1, 0.5)
        assert (await repository.get("a.txt", principal=ANYONE)).pending == 1
        await embed_all(backlog)
        whole = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=5)
        assert (len(whole.ranked_list), whole.seen) == (2, 1.0)
        assert (await repository.find_similar_chunks(EAST, principal=OTHER, limit=5)).seen == 1.0
