"""What a DocumentStore does when documents are written, replaced, deleted and purged."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from ragcorp.domain.documents import IngestStatus, VisibilityScope
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.ports.storage import DocumentSelection, EmbeddingBacklog
from ragcorp.domain.principal import Principal
from support.conformance.stored_documents import OTHER, DocumentPorts, StoredDocuments
from support.storage.stored import ANYONE, EAST, embed_all, full_text, ids, where, written

pytestmark = pytest.mark.anyio


class DocumentWrites(StoredDocuments):
    async def test_created_unchanged_updated(self, repository: DocumentPorts, backlog: EmbeddingBacklog) -> None:
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

    async def test_only_what_was_read_is_replaced(self, repository: DocumentPorts) -> None:
        first, second, third = (written("a.txt", text) for text in ("uno", "dos", "tres"))
        (stored,) = await repository.save_many([first], principal=ANYONE)
        done = await repository.replace(second, expected=first.content_hash, principal=ANYONE)
        assert (done.status, done.document_id) == (IngestStatus.UPDATED, stored.document_id)
        equal = await repository.replace(second, expected=second.content_hash, principal=ANYONE)
        assert equal.status is IngestStatus.UNCHANGED
        with pytest.raises(ConflictError, match="meanwhile"):
            await repository.replace(third, expected=first.content_hash, principal=ANYONE)
        assert (await repository.get("a.txt", principal=ANYONE)).content_hash == second.content_hash.hex()
        await repository.soft_delete_one("a.txt", principal=ANYONE)
        for write in (third, written("none.txt", "uno")):
            with pytest.raises(ConflictError, match="meanwhile"):
                await repository.replace(write, expected=second.content_hash, principal=ANYONE)
        for name in ("a.txt", "none.txt"):
            with pytest.raises(NotFoundError):
                await repository.get(name, principal=ANYONE)

    async def test_find_unchanged_knows_only_what_is_stored_just_so(self, repository: DocumentPorts) -> None:
        kept, changed, gone = written("a.txt", "uno"), written("b.txt", "dos"), written("c.txt", "tres")
        await repository.save_many([kept, changed, gone], principal=ANYONE)
        await repository.soft_delete_one("c.txt", principal=ANYONE)
        hashes = {"a.txt": kept.content_hash, "b.txt": b"other", "c.txt": gone.content_hash, "d.txt": b"none"}
        results = await repository.find_unchanged(hashes, chunker="test", principal=ANYONE)
        assert list(results) == ["a.txt"]
        assert (results["a.txt"].status, results["a.txt"].chunks, results["a.txt"].pending) == (
            IngestStatus.UNCHANGED,
            1,
            1,
        )
        assert await repository.find_unchanged(hashes, chunker="other", principal=ANYONE) == {}
        assert await repository.find_unchanged(hashes, chunker="test", principal=OTHER) == {}
        assert await repository.find_unchanged({}, chunker="test", principal=ANYONE) == {}

    async def test_only_the_new_version_is_found(self, repository: DocumentPorts, backlog: EmbeddingBacklog) -> None:
        await repository.save_many([written("v.txt", *(f"viejo aguja {n}" for n in range(40)))], principal=ANYONE)
        await embed_all(backlog)
        await repository.save_many([written("v.txt", "versión corta aguja")], principal=ANYONE)
        await embed_all(backlog)
        matching = await full_text(repository, "aguja", principal=ANYONE, limit=100)
        similar = await repository.find_similar_chunks(EAST, principal=ANYONE, limit=100)
        assert await self.contents(repository, matching) == ["versión corta aguja"]
        assert ids(similar.ranked_list.hits) == ids(matching.hits)

    async def test_a_reader_sees_the_old_or_the_new_version_whole(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
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
                matching = await full_text(repository, "aguja", principal=ANYONE, limit=50)
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

    async def test_twenty_parallel_saves_store_one_document_once(self, repository: DocumentPorts) -> None:
        write = written("a.txt", *(f"aguja {n}" for n in range(5)))
        outcomes = await asyncio.gather(*(repository.save_many([write], principal=ANYONE) for _ in range(20)))
        statuses = [outcome.status for (outcome,) in outcomes]
        assert statuses.count(IngestStatus.CREATED) == 1
        assert statuses.count(IngestStatus.UNCHANGED) == 19
        assert len({outcome.document_id for (outcome,) in outcomes}) == 1
        assert {outcome.chunks for (outcome,) in outcomes} == {5}
        assert len(await full_text(repository, "aguja", principal=ANYONE, limit=100)) == 5

    async def test_parallel_batches_in_opposite_orders_wait_for_one_another(self, repository: DocumentPorts) -> None:
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
        assert len(await full_text(repository, "aguja", principal=ANYONE, limit=100)) == 12

    async def test_a_batch_is_stored_as_a_whole_or_not_at_all(self, repository: DocumentPorts) -> None:
        ana = Principal(subject="ana")
        await repository.save_many(
            [written("m.txt", "de ana", visibility_scope=VisibilityScope.PRIVATE, owner="ana")], principal=ana
        )
        batch = [written(name, "aguja") for name in ("a.txt", "m.txt", "z.txt")]
        with pytest.raises(ConflictError):
            await repository.save_many(batch, principal=Principal(subject="beto"))
        assert len(await full_text(repository, "aguja", principal=ana, limit=9)) == 0
        with pytest.raises(NotFoundError):
            await repository.get("a.txt", principal=ana)

    async def test_documents_of_any_number_of_chunks(self, repository: DocumentPorts) -> None:
        for size in (1, 2, 63, 64, 65, 1000, 3):
            write = written("a.txt", *(f"aguja {n}" for n in range(size)))
            (outcome,) = await repository.save_many([write], principal=ANYONE)
            assert (outcome.chunks, outcome.pending) == (size, size)
            result = await full_text(repository, "aguja", principal=ANYONE, limit=1000)
            chunks = await repository.get_chunks([str(i) for i in ids(result.hits)], principal=ANYONE)
            assert sorted(chunk.chunk_index for chunk in chunks.values()) == list(range(size))
            assert (await repository.get("a.txt", principal=ANYONE)).chunks == size

    async def test_what_is_stored_comes_back_to_the_letter(self, repository: DocumentPorts) -> None:
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
        (hit,) = await full_text(repository, "línea", principal=ANYONE, limit=2)
        chunk = (await repository.get_chunks([str(hit.chunk_id)], principal=ANYONE))[str(hit.chunk_id)]
        assert (chunk.content, chunk.title, chunk.path) == (write.chunks[0].content, "Título: 50 %", write.external_id)
        assert chunk.metadata == write.attributes.metadata

    async def test_a_deleted_document_is_gone_at_once_and_comes_back_with_its_vectors(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        write = written("a.txt", "aguja seis", "aguja siete")
        await repository.save_many([write, written("b.txt", "aguja ocho")], principal=ANYONE)
        await embed_all(backlog)
        await repository.soft_delete_one("a.txt", principal=ANYONE)
        assert await self.both(repository) == (["aguja ocho"], ["aguja ocho"])
        for read in (repository.get, repository.get_source):
            with pytest.raises(NotFoundError):
                await read("a.txt", principal=ANYONE)
        with pytest.raises(NotFoundError):
            await repository.soft_delete_one("a.txt", principal=ANYONE)
        document, parsed, original = await repository.get_deleted("a.txt", principal=ANYONE)
        assert (parsed.text, original) == (write.parsed.text, write.source)
        assert document.deleted_at is not None
        deleted = await repository.list_page(DocumentSelection(deleted=True), principal=ANYONE, limit=9)
        assert [item.external_id for item in deleted.items] == ["a.txt"]
        (outcome,) = await repository.save_many([write], principal=ANYONE)
        assert (outcome.status, outcome.pending, outcome.document_id) == (IngestStatus.CREATED, 0, document.id)
        everything = ["aguja ocho", "aguja seis", "aguja siete"]
        assert await self.both(repository) == (everything, everything)

    async def test_a_selection_is_deleted_and_nothing_else(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
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
        self, repository: DocumentPorts
    ) -> None:
        for turn in range(10):
            await repository.save_many([written("a.txt", "aguja", salt=str(turn))], principal=ANYONE)
            outcomes = await asyncio.gather(
                repository.save_many([written("a.txt", "aguja", "aguja", salt=f"new{turn}")], principal=ANYONE),
                repository.soft_delete_one("a.txt", principal=ANYONE),
                return_exceptions=True,
            )
            assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            result = len(await full_text(repository, "aguja", principal=ANYONE, limit=9))
            page = await repository.list_page(DocumentSelection(), principal=ANYONE, limit=9)
            assert result == sum(item.chunks for item in page.items)

    async def test_purge_removes_for_good_what_was_deleted_long_enough_ago(self, repository: DocumentPorts) -> None:
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
