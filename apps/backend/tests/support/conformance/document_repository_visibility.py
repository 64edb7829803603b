"""Which documents of a DocumentStore a principal sees, and how they are listed."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import ConflictError, NotFoundError
from ragcorp.domain.ports.storage import DocumentSelection, EmbeddingBacklog
from ragcorp.domain.principal import Principal, Sensitivity
from support.conformance.stored_documents import OTHER, DocumentPorts, StoredDocuments
from support.storage.stored import ANYONE, EAST, embed_all, full_text, ids, where, written

pytestmark = pytest.mark.anyio


class DocumentVisibility(StoredDocuments):
    async def test_workspaces_do_not_see_one_another(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
    ) -> None:
        for principal in (ANYONE, OTHER):
            await repository.save_many([written("a.txt", f"aguja de {principal.workspace}")], principal=principal)
        await embed_all(backlog)
        chunk_ids = {}
        for principal in (ANYONE, OTHER):
            mine = [f"aguja de {principal.workspace}"]
            similar = (await repository.find_similar_chunks(EAST, principal=principal, limit=9)).ranked_list
            matching = await full_text(repository, "aguja", principal=principal, limit=9)
            assert await self.contents(repository, similar, principal) == mine
            assert await self.contents(repository, matching, principal) == mine
            chunk_ids[principal.workspace] = ids(similar.hits)
            assert (await repository.get_source("a.txt", principal=principal)).content == mine[0].encode()
        assert await repository.get_chunks([str(i) for i in chunk_ids["other"]], principal=ANYONE) == {}
        await repository.soft_delete_one("a.txt", principal=OTHER)
        assert len(await full_text(repository, "aguja", principal=ANYONE, limit=9)) == 1

    SEEN_BY = (
        (Principal(subject="ana", groups=frozenset({"legal"})), ["abierto", "del grupo", "de ana", "secreto"]),
        (Principal(subject="ana"), ["abierto", "de ana", "secreto"]),
        (Principal(subject="beto", groups=frozenset({"legal", "ventas"})), ["abierto", "del grupo", "secreto"]),
        (Principal(subject="legal"), ["abierto", "secreto"]),
        (Principal(subject="ana", clearance=Sensitivity.CONFIDENTIAL), ["abierto", "de ana"]),
        (Principal(subject="ana", clearance=Sensitivity.PUBLIC), []),
    )

    async def test_scope_owner_group_and_clearance_decide(
        self, repository: DocumentPorts, backlog: EmbeddingBacklog
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
            matching = await full_text(repository, "aguja", principal=principal, limit=9)
            fetched = await repository.get_chunks([str(i) for i in ids(every.hits)], principal=principal)
            page = await repository.list_page(DocumentSelection(), principal=principal, limit=9)
            assert await self.contents(repository, similar, everyone) == expected
            assert await self.contents(repository, filtered.ranked_list, everyone) == expected
            assert await self.contents(repository, matching, everyone) == expected
            assert sorted(chunk.content for chunk in fetched.values()) == sorted(expected)
            assert len(page.items) == len(expected)

    async def test_what_one_may_not_read_one_may_neither_replace_nor_delete(self, repository: DocumentPorts) -> None:
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
        assert len(await full_text(repository, "aguja", principal=ana, limit=9)) == 1

    async def test_pages_follow_external_id_and_prefixes_are_literal(self, repository: DocumentPorts) -> None:
        names = ["a_1", "a%2", "aZ", "b", "B", "á", "a"]
        await repository.save_many([written(name, "texto") for name in names], principal=ANYONE)
        listed: list[str] = []
        after = None
        while True:
            page = await repository.list_page(DocumentSelection(), principal=ANYONE, limit=3, after=after)
            listed += [item.external_id for item in page.items]
            if (after := page.next_after) is None:
                break
        assert listed == sorted(names)
        for prefix, expected in [("a", ["a", "a%2", "aZ", "a_1"]), ("a_", ["a_1"]), ("a%", ["a%2"]), ("%", [])]:
            page = await repository.list_page(DocumentSelection(prefix=prefix), principal=ANYONE, limit=9)
            assert [item.external_id for item in page.items] == expected
