"""`ragcorp artifacts` and `ragcorp artifact_chunks`: documents and their passages under the grammar of collections."""

from __future__ import annotations

import hashlib
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ragcorp.application.documents.edit_chunk import ChunkEdit
from ragcorp.application.validation.item_changes import AttributeChange
from ragcorp.application.validation.item_drafts import NAME_DIGITS
from ragcorp.domain.documents import Chunk
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.ports.chunks import ChunkSelection
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.interface.cli.collections import item_options as options
from ragcorp.interface.cli.collections.item_commands import (
    make_vectors_now,
    require_change,
    shortened,
)
from ragcorp.interface.cli.console.arguments import parse_selection_pairs
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import plain
from ragcorp.interface.cli.documents.commands import Prefix, Yes, confirm, document_table
from ragcorp.interface.cli.search.commands import Filter
from ragcorp.interface.request_values import text_file
from ragcorp.interface.shapes.items import artifact_outcome, chunk_edited, stored_artifact, stored_chunk
from ragcorp.interface.shapes.json_text import json_object

ChunkId = Annotated[str, typer.Argument(metavar="CHUNK_ID", help="The passage's id.", show_default=False)]
Artifact = Annotated[
    str, typer.Argument(metavar="ARTIFACT", help="The external_id of the artifact.", show_default=False)
]


async def add_artifact(
    call: Call,
    text: options.Text,
    item: options.ItemOptions,
    external_id: options.ExternalId = None,
    title: options.Title = None,
    no_embed: options.NoEmbed = False,
) -> None:
    """Store a text as a document. `ragcorp ingest` stores files."""
    when = options.time_of(item.occurred_at)
    written = options.text_of(text)
    name = (
        hashlib.sha256(written.encode(errors="replace")).hexdigest()[:NAME_DIGITS]
        if external_id is None
        else external_id
    )
    async with call.services.open(call.target) as opened:
        request = IngestRequest(
            external_id=name,
            file=text_file(name, written),
            attributes=item.attributes(
                title=title or "",
                artifact_type=item.kind or "document",
                default_language=opened.default_language,
                occurred_at=when,
            ),
        )
        result = await opened.ingest.ingest(request, principal=opened.principal)
        await make_vectors_now(opened, no_embed=no_embed)
    _show_artifact(call, result)


async def update_artifact(
    call: Call,
    external_id: options.ItemId,
    item: options.ItemOptions,
    text: options.NewText = None,
    title: options.Title = None,
    no_embed: options.NoEmbed = False,
) -> None:
    """Change what is given of a document; all else stays. --metadata replaces all that there was."""
    change = item.change(title=options.given(title))
    require_change(change == AttributeChange() and text is None)
    written = None if text is None else options.text_of(text)
    async with call.services.open(call.target) as opened:
        result = await opened.collections.revise_document.revise(
            external_id, change, text=written, principal=opened.principal
        )
        await make_vectors_now(opened, no_embed=no_embed)
    _show_artifact(call, result)


async def list_artifacts(
    call: Call,
    prefix: Prefix = "",
    filters: Filter = None,
    limit: options.Limit = 50,
    cursor: options.Cursor = None,
) -> None:
    """List documents in the order of their external_id."""
    selection = DocumentSelection(prefix=prefix, filters=parse_selection_pairs(filters))
    async with call.services.open(call.target) as opened:
        documents, next_cursor = await opened.documents.list(
            selection, principal=opened.principal, limit=limit, cursor=cursor
        )
    call.output.page(
        {"items": [stored_artifact(document) for document in documents], "next_cursor": next_cursor},
        document_table(documents),
        next_cursor,
    )


async def get_artifact(call: Call, external_id: options.ItemId) -> None:
    """Show what is known of a document."""
    async with call.services.open(call.target) as opened:
        document = await opened.documents.get(external_id, principal=opened.principal)
    call.output.fields(json_object(stored_artifact(document)))


async def list_chunks(
    call: Call,
    artifact: Annotated[
        str | None, typer.Option("--artifact", help="Those of this document only.", show_default=False)
    ] = None,
    prefix: Prefix = "",
    filters: Filter = None,
    limit: options.Limit = 50,
    cursor: options.Cursor = None,
) -> None:
    """List passages in the order of their documents and of the text."""
    selection = ChunkSelection(prefix=prefix, artifact=artifact, filters=parse_selection_pairs(filters))
    async with call.services.open(call.target) as opened:
        chunks, next_cursor = await opened.collections.chunks.list(
            selection, principal=opened.principal, limit=limit, cursor=cursor
        )
    call.output.page(
        {"items": [stored_chunk(chunk) for chunk in chunks], "next_cursor": next_cursor},
        _chunk_table(chunks),
        next_cursor,
    )


async def get_chunk(call: Call, chunk_id: ChunkId) -> None:
    """Show a passage."""
    async with call.services.open(call.target) as opened:
        chunk = await opened.collections.chunks.get(chunk_id, principal=opened.principal)
    call.output.fields(stored_chunk(chunk))


async def add_chunk(
    call: Call,
    artifact: Artifact,
    text: options.Text,
    after: Annotated[
        int | None, typer.Option("--after", min=0, help="Behind the passage of this index [at the end].")
    ] = None,
    no_embed: options.NoEmbed = False,
) -> None:
    """Add a passage to the text of a document, which is then cut and indexed anew."""
    written = options.text_of(text)
    async with call.services.open(call.target) as opened:
        edit = await opened.collections.edit_chunk.add(artifact, written, after=after, principal=opened.principal)
        await make_vectors_now(opened, no_embed=no_embed)
    _show_edit(call, edit)


async def update_chunk(call: Call, chunk_id: ChunkId, text: options.Text, no_embed: options.NoEmbed = False) -> None:
    """Replace a passage in the text of its document, which is then cut and indexed anew."""
    written = options.text_of(text)
    async with call.services.open(call.target) as opened:
        edit = await opened.collections.edit_chunk.replace(chunk_id, written, principal=opened.principal)
        await make_vectors_now(opened, no_embed=no_embed)
    _show_edit(call, edit)


async def delete_chunk(call: Call, chunk_id: ChunkId, yes: Yes = False) -> None:
    """Take a passage out of the text of its document."""
    async with call.services.open(call.target) as opened:
        confirm(call, "Take this passage out of its document?", yes=yes)
        edit = await opened.collections.edit_chunk.remove(chunk_id, principal=opened.principal)
    _show_edit(call, edit)


def _show_artifact(call: Call, result: IngestResult) -> None:
    call.output.result(
        artifact_outcome(result),
        lambda console: console.print(plain(f"{result.external_id} {result.status}, {result.chunks:,} passages")),
    )


def _show_edit(call: Call, edit: ChunkEdit) -> None:
    artifact = edit.artifact

    def render(console: Console) -> None:
        console.print(plain(f"{artifact.external_id} {artifact.status}, {artifact.chunks:,} passages"))
        for chunk in edit.passages:
            console.print(plain(f"passage {chunk.chunk_index}: {chunk.id} (lines {chunk.line_start}-{chunk.line_end})"))

    call.output.result(chunk_edited(edit), render)


def _chunk_table(chunks: tuple[Chunk, ...]) -> Table:
    table = Table("id", "artifact", "index", "lines", "text")
    for chunk in chunks:
        table.add_row(
            chunk.id,
            plain(chunk.external_id),
            str(chunk.chunk_index),
            f"{chunk.line_start}-{chunk.line_end}",
            plain(shortened(chunk.content)),
        )
    return table
