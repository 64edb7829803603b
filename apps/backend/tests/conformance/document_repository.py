"""What every DocumentRepository must do. A subclass gives ``repository`` and the ``backlog`` that feeds its vectors."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest

from ragcorp.domain.documents import IngestStatus, VisibilityScope
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.ports.storage import DocumentRepository, DocumentSelection, EmbeddingBacklog
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import RankedList
from ragcorp.domain.search import Filters
from support.embedders import TEST_MODEL
from support.stored import ANYONE, EAST, embed_all, ids, towards, where, written

pytestmark = pytest.mark.anyio

OTHER = Principal(workspace="other")


class DocumentRepositoryConformance:
    @pytest.fixture
    async def repository(self) -> DocumentRepository:
        raise NotImplementedError

    @pytest.fixture
    async def backlog(self) -> EmbeddingBacklog:
        """The backlog over the same storage, for vectors of ``support.embedders.TEST_MODEL``."""
        raise NotImplementedError

    # finding

    async def test_similar_chunks_come_by_cosine_and_say_it(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        cosines = {"opuesto": -1.0, "cerca": 0.96, "lejos": 0.28, "recto": 0.0, "igual": 1.0}
        await repository.save_many([written(f"{name}.txt", name) for name in cosines], principal=ANYONE)
        await embed_all(backlog, {name: towards(cosine) for name, cosine in cosines.items()})
        found = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=10)
        assert await self.contents(repository, found.ranked_list) == ["igual", "cerca", "lejos", "recto", "opuesto"]
        assert [hit.score for hit in found.ranked_list] == pytest.approx([1.0, 0.96, 0.28, 0.0, -1.0], abs=1e-6)
        assert found.ranked_list.score_type == "cosine_similarity"
        assert found.seen == 1.0

    async def test_equal_similarity_is_ordered_by_chunk_id(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        await repository.save_many([written(f"{n:02}.txt", f"texto {n}") for n in range(12)], principal=ANYONE)
        await embed_all(backlog)
        found = ids((await repository.find_similar_chunks(EAST, principal=ANYONE, limit=12)).ranked_list.hits)
        assert len(found) == 12
        assert found == sorted(found, key=lambda chunk_id: int(str(chunk_id)))

    async def test_of_equally_similar_chunks_a_filter_keeps_those_with_the_lowest_ids(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
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

    async def test_limit_bounds_both_channels(self, repository: DocumentRepository, backlog: EmbeddingBacklog) -> None:
        await repository.save_many([written(f"{n}.txt", f"aguja {n}") for n in range(9)], principal=ANYONE)
        await embed_all(backlog, {f"aguja {n}": towards(1 - n / 10) for n in range(9)})
        for limit in (1, 4, 9, 20):
            similar = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=limit)
            matching = await repository.find_chunks_full_text("aguja", principal=ANYONE, limit=limit)
            assert len(similar.ranked_list) == len(matching) == min(limit, 9)
            assert await self.contents(repository, similar.ranked_list) == [f"aguja {n}" for n in range(min(limit, 9))]

    async def test_full_text_ranks_by_cover_density_then_id(self, repository: DocumentRepository) -> None:
        await repository.save_many(
            [
                written("1.txt", "El plazo es largo y nadie sabe cuándo será la entrega."),
                written("2.txt", "Plazo entrega."),
                written("3.txt", "Otro asunto."),
                written("4.txt", "Plazo entrega."),
            ],
            principal=ANYONE,
        )
        found = await repository.find_chunks_full_text("plazo entrega", principal=ANYONE, limit=10)
        assert found.score_type == "ts_rank_cd"
        assert await self.external_ids(repository, found) == ["2.txt", "4.txt", "1.txt"]
        scores = [hit.score for hit in found]
        # ts_rank_cd adds 0.1 (weight D) over the distance of the cover: side by side 0.1; seven words on 0.1 / 7
        assert scores[0] == scores[1] == pytest.approx(0.1, abs=1e-6)
        assert 0 < scores[2] < scores[1]

    FINDABLE = (
        ("los PLAZOS de la entrega", "Plazo de entrega: 30 días."),
        ("REQ 2024 001", "Se aprueba REQ-2024-001 por el comité."),
        ("REQ-2024-001", "Se aprueba REQ-2024-001 por el comité."),
        ("https://www.acme.com/docs/guia.html", "Ver https://www.acme.com/docs/guia.html antes."),
        ("¿Cuál es el plazo máximo de entrega según el contrato?", "El plazo de entrega es de 30 días hábiles"),
        ('"Acme Corporation"', "Contrato con Acme Corporation."),
        ("'12'", "Valor 12"),
        ("aguja", "inicio " + "x" * 5000 + " fin aguja"),
    )

    async def test_full_text_finds_words_codes_and_addresses(self, repository: DocumentRepository) -> None:
        for query, content in self.FINDABLE:
            await repository.save_many(
                [written("si", content), written("no", "Nada que ver con ello.")], principal=ANYONE
            )
            found = await repository.find_chunks_full_text(query, principal=ANYONE, limit=10)
            assert await self.external_ids(repository, found) == ["si"], query

    async def test_a_query_without_content_words_finds_nothing(self, repository: DocumentRepository) -> None:
        await repository.save_many([written("a.txt", "de la que el contrato a")], principal=ANYONE)
        for query in ("de la que el", "", "   ", "¿?", "...", "a", "&", "-"):
            assert len(await repository.find_chunks_full_text(query, principal=ANYONE, limit=10)) == 0, query

    OPERATORS = (
        "a & | b <-> !! foo:* ' OR 1=1 -- \\", "'", "''", '"', '"sin cerrar', "\\", "\\'", "(", "((()", "!", "!!",
        "<->", ":*", "%", "%s", "%(query)s", "-", "http://a.com/'12'/x", "plazo'); DROP TABLE chunks; --", "x" * 2000,
        "ñ" * 2000,
        "😀", "\u200b", "\x01", "12'34", "it's -'7'", "-5 '-5'", "a OR OR b", "OR", "-or -and",
        "<b>x</b>", "&amp;",
        "\\000", "{1,2}", "$1", "E'\\x'", "file:///'1'/'-2'/ ' 3'", "1e400 -1e-400", "a@b.'1'.com", "/'1' /'1'",
    )  # fmt: skip

    async def test_operators_and_quotes_are_words_or_nothing(self, repository: DocumentRepository) -> None:
        await repository.save_many([written("a.txt", "El plazo vence.")], principal=ANYONE)
        for query in self.OPERATORS:
            await repository.find_chunks_full_text(query, principal=ANYONE, limit=10)
        assert len(await repository.find_chunks_full_text("plazo", principal=ANYONE, limit=10)) == 1

    # filters

    async def filterable(self, repository: DocumentRepository, backlog: EmbeddingBacklog) -> UUID:
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
        ({"autor' = 'x' OR '1'='1' --": "y"}, []),
        ({'%s") OR true --': "%(x)s"}, []),
    )

    async def test_filters_mean_the_same_to_both_channels_and_to_the_list(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        await self.filterable(repository, backlog)
        for given, expected in self.FILTERED:
            filters = where(**given)
            page = await repository.list_page(DocumentSelection(filters=filters), principal=ANYONE, limit=9)
            listed = sorted(item.external_id.rpartition("/")[2] for item in page.documents)
            similar, matching = await self.both(repository, filters)
            assert sorted(similar) == sorted(matching) == sorted(f"aguja {name}" for name in expected), given
            assert listed == sorted(f"{name}.txt" for name in expected), given

    async def test_the_filter_document_id_names_one_document(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        document_id = await self.filterable(repository, backlog)
        filters = where(document_id=[str(document_id), "00000000-0000-4000-8000-000000000000"])
        similar = (await repository.find_similar_chunks(EAST, principal=ANYONE, filters=filters, limit=9)).ranked_list
        matching = await repository.find_chunks_full_text("aguja", principal=ANYONE, filters=filters, limit=9)
        assert await self.contents(repository, similar) == await self.contents(repository, matching) == ["aguja uno"]

    async def test_a_selective_filter_still_fills_the_limit(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        """The chunks that pass are the farthest of all: an index scan alone would give up long before them."""
        near = [written(f"cerca/{n}.txt", f"cerca {n}") for n in range(300)]
        far = [written(f"lejos/{n}.txt", f"lejos {n}", metadata={"kind": "rare"}) for n in range(6)]
        await repository.save_many([*near, *far], principal=ANYONE)
        vectors = {f"lejos {n}": towards(-0.9 - n / 100) for n in range(6)}
        await embed_all(backlog, vectors)
        found = await repository.find_similar_chunks(EAST, principal=ANYONE, filters=where(kind="rare"), limit=5)
        assert await self.contents(repository, found.ranked_list) == [f"lejos {n}" for n in range(5)]

    # who may see what

    async def test_workspaces_do_not_see_one_another(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        for principal in (ANYONE, OTHER):
            await repository.save_many([written("a.txt", f"aguja de {principal.workspace}")], principal=principal)
        await embed_all(backlog)
        chunk_ids = {}
        for principal in (ANYONE, OTHER):
            mine = [f"aguja de {principal.workspace}"]
            similar = (await repository.find_similar_chunks(EAST, principal=principal, limit=9)).ranked_list
            matching = await repository.find_chunks_full_text("aguja", principal=principal, limit=9)
            assert await self.contents(repository, similar, principal) == mine
            assert await self.contents(repository, matching, principal) == mine
            chunk_ids[principal.workspace] = ids(similar.hits)
            assert (await repository.get_source("a.txt", principal=principal)).content == mine[0].encode()
        assert await repository.get_chunks([str(i) for i in chunk_ids["other"]], principal=ANYONE) == {}
        await repository.soft_delete_one("a.txt", principal=OTHER)
        assert len(await repository.find_chunks_full_text("aguja", principal=ANYONE, limit=9)) == 1

    SEEN_BY = (
        (Principal(subject="ana", groups=frozenset({"legal"})), ["abierto", "del grupo", "de ana", "secreto"]),
        (Principal(subject="ana"), ["abierto", "de ana", "secreto"]),
        (Principal(subject="beto", groups=frozenset({"legal", "ventas"})), ["abierto", "del grupo", "secreto"]),
        (Principal(subject="legal"), ["abierto", "secreto"]),
        (Principal(subject="ana", clearance=Sensitivity.CONFIDENTIAL), ["abierto", "de ana"]),
        (Principal(subject="ana", clearance=Sensitivity.PUBLIC), []),
    )

    async def test_scope_owner_group_and_clearance_decide(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        everyone = Principal(subject="ana", groups=frozenset({"legal"}))
        await repository.save_many(
            [
                written("1.txt", "aguja abierto"),
                written("2.txt", "aguja del grupo", visibility_scope=VisibilityScope.GROUP, owner="legal"),
                written("3.txt", "aguja de ana", visibility_scope=VisibilityScope.PRIVATE, owner="ana"),
                written("4.txt", "aguja secreto", sensitivity=Sensitivity.RESTRICTED),
            ],
            principal=everyone,
        )
        await embed_all(backlog)
        every = (await repository.find_similar_chunks(EAST, principal=everyone, limit=9)).ranked_list
        for principal, visible in self.SEEN_BY:
            expected = [f"aguja {name}" for name in visible]
            similar = (await repository.find_similar_chunks(EAST, principal=principal, limit=9)).ranked_list
            filtered = await repository.find_similar_chunks(
                EAST, principal=principal, filters=where(language="es"), limit=9
            )
            matching = await repository.find_chunks_full_text("aguja", principal=principal, limit=9)
            fetched = await repository.get_chunks([str(i) for i in ids(every.hits)], principal=principal)
            page = await repository.list_page(DocumentSelection(), principal=principal, limit=9)
            assert await self.contents(repository, similar, everyone) == expected
            assert await self.contents(repository, filtered.ranked_list, everyone) == expected
            assert await self.contents(repository, matching, everyone) == expected
            assert sorted(chunk.content for chunk in fetched.values()) == sorted(expected)
            assert len(page.documents) == len(expected)

    async def test_what_one_may_not_read_one_may_neither_replace_nor_delete(
        self, repository: DocumentRepository
    ) -> None:
        ana, beto = Principal(subject="ana"), Principal(subject="beto")
        await repository.save_many(
            [written("a.txt", "aguja de ana", visibility_scope=VisibilityScope.PRIVATE, owner="ana")], principal=ana
        )
        with pytest.raises(ConflictError):
            await repository.save_many([written("a.txt", "de beto")], principal=beto)
        with pytest.raises(NotFoundError):
            await repository.soft_delete_one("a.txt", principal=beto)
        for read in (repository.get, repository.get_source):
            with pytest.raises(NotFoundError):
                await read("a.txt", principal=beto)
        assert await repository.soft_delete(DocumentSelection(prefix="a"), principal=beto) == 0
        assert len(await repository.find_chunks_full_text("aguja", principal=ana, limit=9)) == 1

    # writing

    async def test_created_unchanged_updated(self, repository: DocumentRepository, backlog: EmbeddingBacklog) -> None:
        first = (await repository.save_many([written("a.txt", "uno", "dos", "tres")], principal=ANYONE))[0]
        assert (first.status, first.chunks, first.pending) == (IngestStatus.CREATED, 3, 3)
        await embed_all(backlog)
        again = (await repository.save_many([written("a.txt", "uno", "dos", "tres")], principal=ANYONE))[0]
        assert (again.status, again.chunks, again.pending) == (IngestStatus.UNCHANGED, 3, 0)
        assert again.document_id == first.document_id
        changed = (await repository.save_many([written("a.txt", "uno", "cuatro")], principal=ANYONE))[0]
        # the vector of what did not change comes from the cache
        assert (changed.status, changed.chunks, changed.pending) == (IngestStatus.UPDATED, 2, 1)
        assert changed.document_id == first.document_id
        rechunked = (
            await repository.save_many([written("a.txt", "uno", "cuatro", chunker="other")], principal=ANYONE)
        )[0]
        assert (rechunked.status, rechunked.pending) == (IngestStatus.UPDATED, 1)

    async def test_find_unchanged_knows_only_what_is_stored_just_so(self, repository: DocumentRepository) -> None:
        kept, changed, gone = written("a.txt", "uno"), written("b.txt", "dos"), written("c.txt", "tres")
        await repository.save_many([kept, changed, gone], principal=ANYONE)
        await repository.soft_delete_one("c.txt", principal=ANYONE)
        hashes = {"a.txt": kept.content_hash, "b.txt": b"other", "c.txt": gone.content_hash, "d.txt": b"none"}
        found = await repository.find_unchanged(hashes, chunker="test", principal=ANYONE)
        assert list(found) == ["a.txt"]
        assert (found["a.txt"].status, found["a.txt"].chunks, found["a.txt"].pending) == (IngestStatus.UNCHANGED, 1, 1)
        assert await repository.find_unchanged(hashes, chunker="other", principal=ANYONE) == {}
        assert await repository.find_unchanged(hashes, chunker="test", principal=OTHER) == {}
        assert await repository.find_unchanged({}, chunker="test", principal=ANYONE) == {}

    async def test_only_the_new_version_is_found(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        await repository.save_many([written("v.txt", *(f"viejo aguja {n}" for n in range(40)))], principal=ANYONE)
        await embed_all(backlog)
        await repository.save_many([written("v.txt", "versión corta aguja")], principal=ANYONE)
        await embed_all(backlog)
        matching = await repository.find_chunks_full_text("aguja", principal=ANYONE, limit=100)
        similar = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=100)
        assert await self.contents(repository, matching) == ["versión corta aguja"]
        assert ids(similar.ranked_list.hits) == ids(matching.hits)

    async def test_a_reader_sees_the_old_or_the_new_version_whole(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        versions = [
            written("v.txt", *(f"antes aguja {n}" for n in range(7)), salt="7"),
            written("v.txt", *(f"luego aguja {n}" for n in range(4)), salt="4"),
        ]
        for version in versions:
            await repository.save_many([version], principal=ANYONE)
            await embed_all(backlog)
        seen: set[int] = set()
        stop = asyncio.Event()

        async def read() -> None:
            while not stop.is_set():
                matching = await repository.find_chunks_full_text("aguja", principal=ANYONE, limit=50)
                similar = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=50)
                seen.update((len(matching), len(similar.ranked_list)))

        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(read())
            for turn in range(30):
                await repository.save_many([versions[turn % 2]], principal=ANYONE)
            stop.set()
        assert seen <= {7, 4}
        assert seen

    async def test_twenty_parallel_saves_store_one_document_once(self, repository: DocumentRepository) -> None:
        write = written("a.txt", *(f"aguja {n}" for n in range(5)))
        outcomes = await asyncio.gather(*(repository.save_many([write], principal=ANYONE) for _ in range(20)))
        statuses = [outcome.status for (outcome,) in outcomes]
        assert statuses.count(IngestStatus.CREATED) == 1
        assert statuses.count(IngestStatus.UNCHANGED) == 19
        assert len({outcome.document_id for (outcome,) in outcomes}) == 1
        assert {outcome.chunks for (outcome,) in outcomes} == {5}
        assert len(await repository.find_chunks_full_text("aguja", principal=ANYONE, limit=100)) == 5

    async def test_parallel_batches_in_opposite_orders_wait_for_one_another(
        self, repository: DocumentRepository
    ) -> None:
        names = [f"{n:02}.txt" for n in range(12)]

        async def save(order: list[str], salt: str) -> None:
            writes = [written(name, f"aguja {name} {salt}") for name in order]
            await repository.save_many(writes, principal=ANYONE)

        for turn in range(5):
            await asyncio.gather(
                save(names, f"a{turn}"),
                save(names[::-1], f"b{turn}"),
                save(names[::2], f"c{turn}"),
                save(names[::-3], f"d{turn}"),
            )
        assert len(await repository.find_chunks_full_text("aguja", principal=ANYONE, limit=100)) == 12

    async def test_a_batch_is_stored_as_a_whole_or_not_at_all(self, repository: DocumentRepository) -> None:
        ana = Principal(subject="ana")
        await repository.save_many(
            [written("m.txt", "de ana", visibility_scope=VisibilityScope.PRIVATE, owner="ana")], principal=ana
        )
        batch = [written(name, "aguja") for name in ("a.txt", "m.txt", "z.txt")]
        with pytest.raises(ConflictError):
            await repository.save_many(batch, principal=Principal(subject="beto"))
        assert len(await repository.find_chunks_full_text("aguja", principal=ana, limit=9)) == 0
        with pytest.raises(NotFoundError):
            await repository.get("a.txt", principal=ana)

    async def test_documents_of_any_number_of_chunks(self, repository: DocumentRepository) -> None:
        for size in (1, 2, 63, 64, 65, 1000, 3):
            write = written("a.txt", *(f"aguja {n}" for n in range(size)))
            (outcome,) = await repository.save_many([write], principal=ANYONE)
            assert (outcome.chunks, outcome.pending) == (size, size)
            found = await repository.find_chunks_full_text("aguja", principal=ANYONE, limit=1000)
            chunks = await repository.get_chunks([str(i) for i in ids(found.hits)], principal=ANYONE)
            assert sorted(chunk.chunk_index for chunk in chunks.values()) == list(range(size))
            assert (await repository.get("a.txt", principal=ANYONE)).chunks == size

    async def test_what_is_stored_comes_back_to_the_letter(self, repository: DocumentRepository) -> None:
        write = written(
            "carpeta/ñandú 100%_x.txt",
            "línea 1\n\tlínea «2» 😀 \\ ' \" % {}",
            title="Título: 50 %",
            language="ca",
            artifact_type="contract",
            owner="ana",
            occurred_at=datetime(2025, 3, 30, 1, 30, tzinfo=UTC),
            metadata={"a": {"b": [1, None, "ñ"]}, "n": 2**53, "f": 0.1},
        )
        await repository.save_many([write], principal=ANYONE)
        document = await repository.get(write.external_id, principal=ANYONE)
        assert document.attributes == write.attributes
        assert document.content_hash == write.content_hash.hex()
        assert await repository.get_source(write.external_id, principal=ANYONE) == write.source
        (hit,) = await repository.find_chunks_full_text("línea", principal=ANYONE, limit=2)
        chunk = (await repository.get_chunks([str(hit.chunk_id)], principal=ANYONE))[str(hit.chunk_id)]
        assert (chunk.content, chunk.title, chunk.path) == (write.chunks[0].content, "Título: 50 %", write.external_id)
        assert chunk.metadata == write.attributes.metadata

    async def test_ids_of_no_chunk_are_passed_over(self, repository: DocumentRepository) -> None:
        await repository.save_many([written("a.txt", "aguja")], principal=ANYONE)
        (hit,) = await repository.find_chunks_full_text("aguja", principal=ANYONE, limit=2)
        for chunk_id in ("", "x", "-1", "0", "999999999", "9" * 40, "1.5", "1; DROP", "٣", "\x00"):
            found = await repository.get_chunks([chunk_id, str(hit.chunk_id)], principal=ANYONE)
            assert list(found) == [hit.chunk_id]

    async def test_positions_lead_to_chunk_ids(self, repository: DocumentRepository) -> None:
        (outcome,) = await repository.save_many([written("a.txt", "aguja", "pajar")], principal=ANYONE)
        (hit,) = await repository.find_chunks_full_text("pajar", principal=ANYONE, limit=2)
        here, nowhere = (outcome.document_id, 1), UUID(int=7)
        asked = [here, (outcome.document_id, 2), (outcome.document_id, -1), (outcome.document_id, 2**40), (nowhere, 0)]
        assert await repository.find_chunk_ids(asked, principal=ANYONE) == {here: hit.chunk_id}
        assert await repository.find_chunk_ids([here], principal=OTHER) == {}
        assert await repository.find_chunk_ids([], principal=ANYONE) == {}

    # the list

    async def test_pages_follow_external_id_and_prefixes_are_literal(self, repository: DocumentRepository) -> None:
        names = ["a_1", "a%2", "aZ", "b", "B", "á", "a"]
        await repository.save_many([written(name, "texto") for name in names], principal=ANYONE)
        listed: list[str] = []
        after = None
        while True:
            page = await repository.list_page(DocumentSelection(), principal=ANYONE, limit=3, after=after)
            listed += [item.external_id for item in page.documents]
            if (after := page.next_after) is None:
                break
        assert listed == sorted(names)
        for prefix, expected in [("a", ["a", "a%2", "aZ", "a_1"]), ("a_", ["a_1"]), ("a%", ["a%2"]), ("%", [])]:
            page = await repository.list_page(DocumentSelection(prefix=prefix), principal=ANYONE, limit=9)
            assert [item.external_id for item in page.documents] == expected

    # vectors that are missing

    async def test_seen_is_the_share_of_the_chunks_that_have_a_vector(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        empty = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=5)
        assert (len(empty.ranked_list), empty.seen) == (0, 1.0)
        await repository.save_many([written("a.txt", "uno", "dos")], principal=ANYONE)
        waiting = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=5)
        assert (len(waiting.ranked_list), waiting.seen) == (0, 0.0)
        assert (await repository.get("a.txt", principal=ANYONE)).pending == 2
        (item,) = await backlog.claim(limit=1, lease_seconds=0)
        await backlog.complete({item.chunk_id: EAST}, model=TEST_MODEL)
        half = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=5)
        assert (len(half.ranked_list), half.seen) == (1, 0.5)
        assert (await repository.get("a.txt", principal=ANYONE)).pending == 1
        await embed_all(backlog)
        whole = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=5)
        assert (len(whole.ranked_list), whole.seen) == (2, 1.0)
        assert (await repository.find_similar_chunks(EAST, principal=OTHER, limit=5)).seen == 1.0

    # deleting

    async def test_a_deleted_document_is_gone_at_once_and_comes_back_with_its_vectors(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        write = written("a.txt", "aguja uno", "aguja dos")
        await repository.save_many([write, written("b.txt", "aguja tres")], principal=ANYONE)
        await embed_all(backlog)
        await repository.soft_delete_one("a.txt", principal=ANYONE)
        assert await self.both(repository) == (["aguja tres"], ["aguja tres"])
        for read in (repository.get, repository.get_source):
            with pytest.raises(NotFoundError):
                await read("a.txt", principal=ANYONE)
        with pytest.raises(NotFoundError):
            await repository.soft_delete_one("a.txt", principal=ANYONE)
        document, parsed, original = await repository.get_deleted("a.txt", principal=ANYONE)
        assert (parsed.text, original) == (write.parsed.text, write.source)
        assert document.deleted_at is not None
        deleted = await repository.list_page(DocumentSelection(deleted=True), principal=ANYONE, limit=9)
        assert [item.external_id for item in deleted.documents] == ["a.txt"]
        (outcome,) = await repository.save_many([write], principal=ANYONE)
        assert (outcome.status, outcome.pending, outcome.document_id) == (IngestStatus.CREATED, 0, document.id)
        everything = ["aguja tres", "aguja uno", "aguja dos"]
        assert await self.both(repository) == (everything, everything)

    async def test_a_selection_is_deleted_and_nothing_else(
        self, repository: DocumentRepository, backlog: EmbeddingBacklog
    ) -> None:
        await repository.save_many(
            [written(name, f"aguja {name}") for name in ("x/1", "x/2", "x_3", "y/4")]
            + [written("x/5", "aguja x/5", language="en")],
            principal=ANYONE,
        )
        await embed_all(backlog)
        selection = DocumentSelection(prefix="x/", filters=where(language="es"))
        assert await repository.soft_delete(selection, principal=OTHER) == 0
        assert await repository.soft_delete(selection, principal=ANYONE) == 2
        assert await repository.soft_delete(selection, principal=ANYONE) == 0
        similar, matching = await self.both(repository)
        assert sorted(similar) == sorted(matching) == ["aguja x/5", "aguja x_3", "aguja y/4"]

    async def test_a_save_that_commits_while_a_deletion_waits_leaves_no_chunk_behind(
        self, repository: DocumentRepository
    ) -> None:
        for turn in range(10):
            await repository.save_many([written("a.txt", "aguja", salt=str(turn))], principal=ANYONE)
            outcomes = await asyncio.gather(
                repository.save_many([written("a.txt", "aguja", "aguja", salt=f"new{turn}")], principal=ANYONE),
                repository.soft_delete_one("a.txt", principal=ANYONE),
                return_exceptions=True,
            )
            assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            found = len(await repository.find_chunks_full_text("aguja", principal=ANYONE, limit=9))
            page = await repository.list_page(DocumentSelection(), principal=ANYONE, limit=9)
            assert found == sum(item.chunks for item in page.documents)

    async def test_purge_removes_for_good_what_was_deleted_long_enough_ago(
        self, repository: DocumentRepository
    ) -> None:
        await repository.save_many([written("a.txt", "uno"), written("b.txt", "dos")], principal=ANYONE)
        await repository.save_many([written("a.txt", "uno")], principal=OTHER)
        for principal in (ANYONE, OTHER):
            await repository.soft_delete_one("a.txt", principal=principal)
        assert await repository.purge_deleted(older_than_days=1, principal=ANYONE) == 0
        assert await repository.purge_deleted(older_than_days=0, principal=ANYONE) == 1
        with pytest.raises(NotFoundError):
            await repository.get_deleted("a.txt", principal=ANYONE)
        assert (await repository.get("b.txt", principal=ANYONE)).chunks == 1
        assert (await repository.get_deleted("a.txt", principal=OTHER))[0].external_id == "a.txt"

    # what the cases look through

    async def contents(
        self, repository: DocumentRepository, found: RankedList, principal: Principal = ANYONE
    ) -> list[str]:
        chunks = await repository.get_chunks([str(i) for i in ids(found.hits)], principal=principal)
        return [chunks[str(hit.chunk_id)].content for hit in found]

    async def external_ids(self, repository: DocumentRepository, found: RankedList) -> list[str]:
        chunks = await repository.get_chunks([str(i) for i in ids(found.hits)], principal=ANYONE)
        return [chunks[str(hit.chunk_id)].external_id for hit in found]

    async def both(self, repository: DocumentRepository, filters: Filters = ()) -> tuple[list[str], list[str]]:
        similar = await repository.find_similar_chunks(EAST, principal=ANYONE, filters=filters, limit=99)
        matching = await repository.find_chunks_full_text("aguja", principal=ANYONE, filters=filters, limit=99)
        return await self.contents(repository, similar.ranked_list), await self.contents(repository, matching)
