"""`ragcorp artifacts` and `ragcorp artifact_chunks`: documents and their passages as collections."""

import hashlib
from dataclasses import dataclass, replace
from typing import Annotated

from rich.console import Console
from typer import Option

from ragcorp.application.documents.edit_chunk import ChunkEdit
from ragcorp.application.validation.item_changes import AttributeChange
from ragcorp.application.validation.item_drafts import NAME_DIGITS
from ragcorp.domain.documents import Chunk, DocumentAttributes
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.ports.chunks import ChunkSelection
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.interface.cli.collections.items import require_change
from ragcorp.interface.cli.console import options
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import PageOptions, argument, option, or_keep
from ragcorp.interface.cli.console.output import Cells, print_line, shortened
from ragcorp.interface.cli.documents.commands import DOCUMENT_CELLS, confirm
from ragcorp.interface.cli.documents.vectors import embed_batch
from ragcorp.interface.request_values import text_file
from ragcorp.interface.shapes.items import artifact_outcome, chunk_edited, stored_artifact, stored_chunk
from ragcorp.interface.shapes.json_text import json_object

ChunkId = Annotated[str, argument(metavar="CHUNK_ID", help="The passage's id.")]
Artifact = Annotated[str, argument(metavar="ARTIFACT", help="The external_id of the artifact.")]

CHUNK_CELLS: Cells[Chunk] = {
    "id": lambda chunk: chunk.id,
    "artifact": lambda chunk: chunk.external_id,
    "index": lambda chunk: chunk.chunk_index,
    "lines": lambda chunk: f"{chunk.line_start}-{chunk.line_end}",
    "text": lambda chunk: shortened(chunk.content),
}


@dataclass(frozen=True, kw_only=True)
class ArtifactOptions(options.ItemOptions):
    """Attributes of a document."""

    title: Annotated[str | None, option("--title", help="Its title.")] = None

    def attributes(self, *, kind: str, default_language: str) -> DocumentAttributes:
        described = super().attributes(kind=kind, default_language=default_language)
        return replace(described, title=self.title or "")

    def change(self) -> AttributeChange:
        return replace(super().change(), title=or_keep(self.title))


async def add_artifact(
    call: Call,
    text: options.Text,
    described: ArtifactOptions,
    external_id: options.ExternalId = None,
    no_embed: options.NoEmbed = False,
) -> None:
    """Store a text as a document. `ragcorp ingest` stores files."""
    if external_id is None:
        external_id = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:NAME_DIGITS]
    async with call.open() as session:
        request = IngestRequest(
            external_id=external_id,
            file=text_file(external_id, text),
            attributes=described.attributes(kind="document", default_language=session.use_cases.default_language),
        )
        result = await session.use_cases.ingest.ingest(request, principal=session.principal)
        await embed_batch(session, no_embed=no_embed)
    _show_artifact(call, result)


async def update_artifact(
    call: Call,
    external_id: options.ItemId,
    described: ArtifactOptions,
    text: options.NewText = None,
    no_embed: options.NoEmbed = False,
) -> None:
    """Change what is given of a document; all else stays. --metadata replaces all that there was."""
    change = described.change()
    require_change(change != AttributeChange() or text is not None)
    async with call.open() as session:
        result = await session.use_cases.collections.revise_document.revise(
            external_id, change, text=text, principal=session.principal
        )
        await embed_batch(session, no_embed=no_embed)
    _show_artifact(call, result)


async def list_artifacts(call: Call, page: PageOptions) -> None:
    """List documents in the order of their external_id."""
    selection = DocumentSelection(prefix=page.prefix, filters=page.conditions)
    async with call.open() as session:
        listed = await session.use_cases.documents.list(
            selection, principal=session.principal, limit=page.limit, cursor=page.cursor
        )
    call.output.page("items", *listed, document_of=stored_artifact, cells=DOCUMENT_CELLS)


async def get_artifact(call: Call, external_id: options.ItemId) -> None:
    """Show what is known of a document."""
    async with call.open() as session:
        document = await session.use_cases.documents.get(external_id, principal=session.principal)
    call.output.values(json_object(stored_artifact(document)))


async def list_chunks(
    call: Call,
    page: PageOptions,
    artifact: Annotated[str | None, option("--artifact", help="Those of this document only.")] = None,
) -> None:
    """List passages in the order of their documents and of the text."""
    selection = ChunkSelection(prefix=page.prefix, artifact=artifact, filters=page.conditions)
    async with call.open() as session:
        listed = await session.use_cases.collections.chunks.list(
            selection, principal=session.principal, limit=page.limit, cursor=page.cursor
        )
    call.output.page("items", *listed, document_of=stored_chunk, cells=CHUNK_CELLS)


async def get_chunk(call: Call, chunk_id: ChunkId) -> None:
    """Show a passage."""
    async with call.open() as session:
        chunk = await session.use_cases.collections.chunks.get(chunk_id, principal=session.principal)
    call.output.values(stored_chunk(chunk))


async def add_chunk(
    call: Call,
    artifact: Artifact,
    text: options.Text,
    after: Annotated[
        int | None, Option("--after", min=0, help="Behind the passage of this index [at the end].")
    ] = None,
    no_embed: options.NoEmbed = False,
) -> None:
    """Add a passage to the text of a document, which is then cut and indexed anew."""
    async with call.open() as session:
        edit_chunk = session.use_cases.collections.edit_chunk
        edit = await edit_chunk.add(artifact, text, after=after, principal=session.principal)
        await embed_batch(session, no_embed=no_embed)
    _show_edit(call, edit)


async def update_chunk(call: Call, chunk_id: ChunkId, text: options.Text, no_embed: options.NoEmbed = False) -> None:
    """Replace a passage in the text of its document, which is then cut and indexed anew."""
    async with call.open() as session:
        edit_chunk = session.use_cases.collections.edit_chunk
        edit = await edit_chunk.replace(chunk_id, text, principal=session.principal)
        await embed_batch(session, no_embed=no_embed)
    _show_edit(call, edit)


async def delete_chunk(call: Call, chunk_id: ChunkId, yes: options.Yes = False) -> None:
    """Take a passage out of the text of its document."""
    async with call.open() as session:
        confirm(call, "Take this passage out of its document?", yes=yes)
        edit = await session.use_cases.collections.edit_chunk.remove(chunk_id, principal=session.principal)
    _show_edit(call, edit)


def _show_artifact(call: Call, result: IngestResult) -> None:
    call.output.line(artifact_outcome(result), f"{result.external_id} {result.status}, {result.chunks:,} passages")


def _show_edit(call: Call, edit: ChunkEdit) -> None:
    artifact = edit.artifact

    def render(console: Console) -> None:
        print_line(console, f"{artifact.external_id} {artifact.status}, {artifact.chunks:,} passages")
        for chunk in edit.passages:
            print_line(console, f"passage {chunk.chunk_index}: {chunk.id} (lines {chunk.line_start}-{chunk.line_end})")

    call.output.result(chunk_edited(edit), render)
