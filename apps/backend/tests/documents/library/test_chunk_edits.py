"""Passages through the library, over PostgreSQL: listing them, and editing their documents through them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from ragcorp.domain.documents import Chunk, DocumentAttributes, IngestStatus, VisibilityScope
from ragcorp.domain.exceptions import ConflictError, InvalidInputError, NotFoundError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.interface.library.rag import Rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.retrieval.corpus import OpenRag, found

pytestmark = pytest.mark.anyio

SIX = "\n\n".join(f"## Cláusula {n}\n\n" + f"La cláusula {n} fija el plazo de entrega. " * 8 for n in range(6)) + "\n"
LONG = " ".join(f"Frase número {n} sobre la obra y su plazo." for n in range(60))


async def passages(rag: Rag, artifact: str = "c/a.md") -> tuple[Chunk, ...]:
    return (await rag.chunks.list(artifact=artifact, limit=200))[0]


async def text_of(rag: Rag, artifact: str = "c/a.md") -> str:
    return (await rag.source(artifact)).content.decode()


def contents(chunks: Sequence[Chunk]) -> list[str]:
    return [chunk.content for chunk in chunks]


@pytest.mark.parametrize("index", [0, 3, 5])
async def test_one_of_six_is_replaced_and_the_others_keep_their_vectors(open_rag: OpenRag, index: int) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(parts=Parts(embedder=embedder), chunk_max_tokens=96, chunk_overlap_tokens=0)
    await rag.ingest_text("c/a.md", SIX, title="Contrato")
    before = await passages(rag)
    assert len(before) == 6
    embedded = len(embedder.embedded)
    new = f"## Cláusula {index}\n\nLa aguja REQ-2026-9 está aquí."
    edit = await rag.chunks.replace(before[index].id, new)
    assert (edit.artifact.status, edit.artifact.chunks, edit.artifact.pending) == (IngestStatus.UPDATED, 6, 0)
    assert contents(edit.passages) == [new]
    after = await passages(rag)
    assert contents(after) == [*contents(before[:index]), new, *contents(before[index + 1 :])]
    assert edit.passages[0].id == after[index].id
    assert len(embedder.embedded) == embedded + 1
    assert await found(rag, "REQ-2026-9") == ["c/a.md"]
    assert (await rag.document("c/a.md")).attributes.title == "Contrato"
    with pytest.raises(NotFoundError):
        await rag.chunks.get(before[index].id)


async def test_an_overlapping_passage_is_replaced_with_what_it_shares(open_rag: OpenRag) -> None:
    rag = await open_rag(chunk_max_tokens=64, chunk_overlap_tokens=24)
    await rag.ingest_text("c/a.md", LONG)
    before = await passages(rag)
    third = before[3]
    start = LONG.index(third.content)
    assert LONG.index(before[2].content) + len(before[2].content) > start  # they overlap
    edit = await rag.chunks.replace(third.id, "Una sola aguja.")
    expected = LONG[:start] + "Una sola aguja." + LONG[start + len(third.content) :]
    assert await text_of(rag) == expected
    assert edit.passages
    assert any("Una sola aguja." in chunk.content for chunk in edit.passages)
    removed = next(chunk for chunk in await passages(rag) if chunk.chunk_index == 1)
    await rag.chunks.remove(removed.id)
    assert await text_of(rag) == expected.replace(removed.content, "", 1)


async def test_passages_are_added_and_taken_out(open_rag: OpenRag) -> None:
    rag = await open_rag(chunk_max_tokens=96, chunk_overlap_tokens=0)
    await rag.ingest_text("c/a.md", SIX)
    added = await rag.chunks.add("c/a.md", "## Anexo\n\nEl anexo tiene una aguja.\x00 Fin. 🙂", after=2)
    assert [chunk.heading_path[-1] for chunk in added.passages] == ["Anexo"]
    text = await text_of(rag)
    assert "aguja.  Fin. 🙂\n\n## Cláusula 3" in text
    (anexo,) = added.passages
    taken = await rag.chunks.remove(anexo.id)
    assert (taken.artifact.chunks, taken.passages) == (6, ())
    assert contents(await passages(rag)) == [
        f"## Cláusula {n}\n\n" + (f"La cláusula {n} fija el plazo de entrega. " * 8).strip() for n in range(6)
    ]
    await rag.chunks.add("c/a.md", "## Final\n\nDel todo.")
    assert (await text_of(rag)).endswith("\n\n## Final\n\nDel todo.\n")


async def test_two_edits_at_once_end_in_one_conflict(open_rag: OpenRag) -> None:
    rag = await open_rag(chunk_max_tokens=96, chunk_overlap_tokens=0)
    await rag.ingest_text("c/a.md", SIX)
    before = await passages(rag)
    outcomes = await asyncio.gather(
        *(rag.chunks.replace(chunk.id, f"## Nueva {chunk.chunk_index}\n\nTexto.") for chunk in before[1:4]),
        return_exceptions=True,
    )
    done = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert len(done) == 1
    assert all(isinstance(error, ConflictError | NotFoundError) for error in failed)
    assert (await text_of(rag)).count("## Nueva") == 1


async def test_a_write_in_between_is_not_undone(open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch) -> None:
    rag = await open_rag()
    await rag.ingest_text("c/a.md", "Uno.")
    (chunk,) = await passages(rag)
    revision = rag._use_cases.collections.edit_chunk.revision
    read = revision.read

    async def overtaken(external_id: str, *, principal: Principal):  # type: ignore[no-untyped-def]
        seen = await read(external_id, principal=principal)
        await rag.ingest_text("c/a.md", f"Otro que {seen.text}")
        return seen

    monkeypatch.setattr(type(revision), "read", staticmethod(overtaken))
    with pytest.raises(ConflictError, match="meanwhile"):
        await rag.chunks.replace(chunk.id, "Dos.")
    assert await text_of(rag) == "Otro que Uno."
    with pytest.raises(ConflictError, match="meanwhile"):
        await rag.artifacts.update("c/a.md", title="T")
    assert contents(await passages(rag)) == ["Otro que Otro que Uno."]


async def test_a_deletion_in_between_is_not_undone(open_rag: OpenRag, monkeypatch: pytest.MonkeyPatch) -> None:
    rag = await open_rag()
    await rag.ingest_text("c/a.md", "Uno.")
    (chunk,) = await passages(rag)
    revision = rag._use_cases.collections.edit_chunk.revision
    read = revision.read

    async def overtaken(external_id: str, *, principal: Principal):  # type: ignore[no-untyped-def]
        seen = await read(external_id, principal=principal)
        await rag.delete("c/a.md")
        return seen

    monkeypatch.setattr(type(revision), "read", staticmethod(overtaken))
    with pytest.raises(ConflictError, match="deleted"):
        await rag.chunks.replace(chunk.id, "Dos.")
    assert await passages(rag) == ()


async def test_a_pdf_is_not_edited(open_rag: OpenRag) -> None:
    fpdf = pytest.importorskip("fpdf")
    pdf = fpdf.FPDF()
    pdf.set_font("helvetica", size=12)
    pdf.add_page()
    pdf.multi_cell(0, 8, "El plazo de entrega es de 30 dias.")
    rag = await open_rag()
    await rag.ingest_bytes("p.pdf", bytes(pdf.output()), filename="p.pdf")
    (chunk,) = await passages(rag, "p.pdf")
    for call in (
        rag.chunks.replace(chunk.id, "x"),
        rag.chunks.remove(chunk.id),
        rag.chunks.add("p.pdf", "x"),
        rag.artifacts.update("p.pdf", text="x"),
    ):
        with pytest.raises(ConflictError, match=r"application/pdf\. Replace the file\."):
            await call
    assert (await rag.artifacts.update("p.pdf", title="Plazos")).status is IngestStatus.UPDATED
    assert (await passages(rag, "p.pdf"))[0].title == "Plazos"


async def test_a_passage_under_a_repeated_table_header_is_not_edited(open_rag: OpenRag) -> None:
    table = "| código | plazo |\n|---|---|\n" + "\n".join(
        f"| A-{n:03} | {n} días hábiles desde la firma |" for n in range(60)
    )
    rag = await open_rag(chunk_max_tokens=96, chunk_overlap_tokens=0)
    await rag.ingest_text("c/a.md", table)
    before = await passages(rag)
    assert before[2].content.startswith("| código")
    with pytest.raises(ConflictError, match="exactly once"):
        await rag.chunks.replace(before[2].id, "| x | y |")
    assert await text_of(rag) == table


async def test_a_passage_is_added_behind_one_of_several_equal_ones(open_rag: OpenRag) -> None:
    rag = await open_rag(chunk_max_tokens=32, chunk_overlap_tokens=0)
    sentence = "La obra se entrega a los treinta días hábiles contados desde la firma del contrato por ambas partes."
    await rag.ingest_text("c/a.md", " ".join([sentence] * 5))
    before = await passages(rag)
    assert contents(before) == [sentence] * 5
    with pytest.raises(ConflictError, match="exactly once"):
        await rag.chunks.replace(before[1].id, "Otra.")
    edit = await rag.chunks.add("c/a.md", "Aquí, la aguja.", after=2)
    assert edit.passages[0].content.endswith("\n\nAquí, la aguja.")
    assert await text_of(rag) == " ".join([sentence] * 3) + "\n\nAquí, la aguja.\n\n " + " ".join([sentence] * 2)


async def test_files_in_another_encoding_are_edited_as_utf8(open_rag: OpenRag) -> None:
    rag = await open_rag()
    original = "Señal uno.\r\n\r\nSeñal dos.\r\n".encode("cp1252")
    await rag.ingest_bytes("c/a.txt", original, filename="a.txt")
    (chunk,) = await passages(rag, "c/a.txt")
    unchanged = await rag.chunks.replace(chunk.id, chunk.content)
    assert unchanged.artifact.status is IngestStatus.UNCHANGED
    assert (await rag.source("c/a.txt")).content == original
    await rag.chunks.replace(chunk.id, "Señal tres.")
    assert await text_of(rag, "c/a.txt") == "Señal tres.\n"


async def test_passages_that_a_caller_may_not_read_are_not_there(open_rag: OpenRag) -> None:
    rag = await open_rag()
    ana = rag.as_principal(Principal(subject="ana"))
    bea = rag.as_principal(Principal(subject="bea", clearance=Sensitivity.NORMAL))
    private = DocumentAttributes(visibility_scope=VisibilityScope.PRIVATE)
    await ana.ingest_text("own.md", "De ana.", attributes=private)
    await rag.ingest_text("secret.md", "Secreto.", attributes=DocumentAttributes(sensitivity=Sensitivity.RESTRICTED))
    await rag.ingest_text("all.md", "De todos.")
    assert [chunk.external_id for chunk in (await ana.chunks.list())[0]] == ["all.md", "own.md", "secret.md"]
    assert [chunk.external_id for chunk in (await bea.chunks.list())[0]] == ["all.md"]
    for artifact in ("own.md", "secret.md"):
        (chunk,) = await passages(ana, artifact)
        assert await passages(bea, artifact) == ()
        for call in (
            bea.chunks.get(chunk.id), bea.chunks.replace(chunk.id, "x"), bea.chunks.remove(chunk.id),
            bea.chunks.add(artifact, "x"), bea.artifacts.update(artifact, title="x"),
        ):  # fmt: skip
            with pytest.raises(NotFoundError):
                await call


async def test_passages_are_paged_by_document_and_filtered(open_rag: OpenRag) -> None:
    rag = await open_rag(chunk_max_tokens=96, chunk_overlap_tokens=0)
    for name, year in (("b/ñ.md", 2025), ("b%.md", 2026), ("a_.md", 2026)):
        await rag.ingest_text(name, SIX, metadata={"year": year})
    seen: list[tuple[str, int]] = []
    cursor = None
    while True:
        page, cursor = await rag.chunks.list(limit=4, cursor=cursor)
        seen += [(chunk.external_id, chunk.chunk_index) for chunk in page]
        if cursor is None:
            break
    assert seen == [(name, index) for name in ("a_.md", "b%.md", "b/ñ.md") for index in range(6)]
    assert {chunk.external_id for chunk in (await rag.chunks.list(filters={"year": 2026}))[0]} == {"a_.md", "b%.md"}
    assert {chunk.external_id for chunk in (await rag.chunks.list(prefix="b%"))[0]} == {"b%.md"}
    assert (await rag.chunks.list(prefix="A"))[0] == ()
    with pytest.raises(InvalidInputError):
        await rag.chunks.list(limit=0)
    for bad in ("x", "0", "-1", "1.5", "٣", "9" * 19, "1; DROP TABLE chunks", ""):
        with pytest.raises(NotFoundError):
            await rag.chunks.get(bad)
