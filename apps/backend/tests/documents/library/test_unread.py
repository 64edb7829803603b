"""What was not read of a file is kept with its document."""

from __future__ import annotations

import psycopg
import pytest

from ragcorp.domain.documents import IngestStatus, UnreadKind, UnreadPart
from support.parsing.partly_read import pdf_with_scanned_pages
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

PAGES = UnreadPart(kind=UnreadKind.PAGE, count=2, places=("2", "4"))


async def test_it_is_kept_through_every_way_of_a_document(open_rag: OpenRag) -> None:
    rag = await open_rag()
    content = pdf_with_scanned_pages()
    created = await rag.ingest_bytes("plazos.pdf", content, filename="plazos.pdf")
    assert (created.status, created.unread) == (IngestStatus.CREATED, (PAGES,))
    unchanged = await rag.ingest_bytes("plazos.pdf", content, filename="plazos.pdf")
    assert (unchanged.status, unchanged.unread) == (IngestStatus.UNCHANGED, (PAGES,))
    assert (await rag.document("plazos.pdf")).unread == (PAGES,)
    updated = await rag.ingest_bytes("plazos.pdf", content, filename="plazos.pdf", title="Plazos")
    assert (updated.status, updated.unread) == (IngestStatus.UPDATED, (PAGES,))
    await rag.delete("plazos.pdf")
    assert (await rag.restore("plazos.pdf")).unread == (PAGES,)
    (listed,), _ = await rag.documents()
    assert listed.unread == (PAGES,)


async def test_a_new_version_has_its_own(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await rag.ingest_bytes("plazos.pdf", pdf_with_scanned_pages(), filename="plazos.pdf")
    await rag.ingest_text("plazos.pdf", "El plazo es de dos semanas.", media_type="text/plain")
    assert (await rag.document("plazos.pdf")).unread == ()


async def test_a_kind_of_a_newer_version_hides_no_document(open_rag: OpenRag, owner_dsn: str) -> None:
    rag = await open_rag()
    await rag.ingest_bytes("plazos.pdf", pdf_with_scanned_pages(), filename="plazos.pdf")
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        added = '[{"kind": "hologram", "count": 1, "places": []}]'
        connection.execute("UPDATE documents SET unread = unread || %s::jsonb", [added])
    assert (await rag.document("plazos.pdf")).unread == (PAGES,)


async def test_a_document_read_whole_has_none(open_rag: OpenRag) -> None:
    rag = await open_rag()
    assert (await rag.ingest_text("a.md", "El plazo es de dos semanas.")).unread == ()
    assert (await rag.document("a.md")).unread == ()
