"""`ragcorp documents`."""

from __future__ import annotations

import base64
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ragcorp.domain.documents import Document
from ragcorp.domain.exceptions import InvalidInputError, RagcorpError
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.interface.cli.console.arguments import parse_selection_pairs
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import plain
from ragcorp.interface.cli.search.commands import Filter
from ragcorp.interface.shapes.documents import document_list, stored, stored_document
from ragcorp.interface.shapes.json_text import json_object

ExternalId = Annotated[str, typer.Argument(metavar="EXTERNAL_ID", help="The document's own name.", show_default=False)]
Prefix = Annotated[str, typer.Option("--prefix", help="Documents whose external_id starts so.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


async def list_documents(
    call: Call,
    prefix: Prefix = "",
    filters: Filter = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Documents of one page.")] = 50,
    cursor: Annotated[str | None, typer.Option("--cursor", help="The next page: as the last one named it.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that were deleted and can be restored.")] = False,
) -> None:
    """List documents in the order of their external_id."""
    selection = DocumentSelection(prefix=prefix, filters=parse_selection_pairs(filters), deleted=deleted)
    async with call.services.open(call.target) as session:
        documents, next_cursor = await session.documents.list(
            selection, principal=session.principal, limit=limit, cursor=cursor
        )
    call.output.page(document_list(documents, next_cursor), document_table(documents), next_cursor)


async def show(call: Call, external_id: ExternalId) -> None:
    """Show what is known of a document."""
    async with call.services.open(call.target) as session:
        document = await session.documents.get(external_id, principal=session.principal)
    call.output.fields(json_object(stored_document(document)))


async def content(
    call: Call,
    external_id: ExternalId,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it to this file, not to stdout.", show_default=False)
    ] = None,
) -> None:
    """Give back the original, byte for byte."""
    async with call.services.open(call.target) as session:
        file = await session.documents.get_source(external_id, principal=session.principal)
    about: dict[str, object] = {
        "external_id": external_id,
        "filename": file.filename,
        "media_type": file.media_type,
        "size_bytes": len(file.content),
    }
    if output is not None:
        try:
            output.write_bytes(file.content)
        except OSError as error:
            raise InvalidInputError(
                f"The file cannot be written: {error.strerror or type(error).__name__}.",
                field="--output",
                remedy="Name a file in a folder that exists and that you may write to.",
            ) from error
        call.output.result(about, lambda console: console.print(plain(f"{len(file.content):,} bytes written.")))
    elif call.output.json:
        try:
            about["text"] = file.content.decode()
        except UnicodeDecodeError:
            about["base64"] = base64.b64encode(file.content).decode()
        call.output.write_json(about)
    else:
        call.output.write_bytes(file.content)


async def delete(
    call: Call,
    external_id: Annotated[
        str | None, typer.Argument(metavar="[EXTERNAL_ID]", help="One document.", show_default=False)
    ] = None,
    prefix: Prefix = "",
    filters: Filter = None,
    yes: Yes = False,
) -> None:
    """Hide a document, or all that a prefix and filters select. `restore` brings back what was not purged."""
    selection = DocumentSelection(prefix=prefix, filters=parse_selection_pairs(filters))
    if (external_id is None) == (not selection.prefix and not selection.filters):
        raise InvalidInputError(
            "Name one document, or a selection.",
            field="EXTERNAL_ID",
            remedy="Give an external_id, or else --prefix and/or --filter.",
        )
    what = f"the document {external_id}" if external_id is not None else "all documents of this selection"
    async with call.services.open(call.target) as session:
        confirm(call, f"Delete {what}?", yes=yes)
        if external_id is not None:
            await session.delete.delete(external_id, principal=session.principal)
            deleted = 1
        else:
            deleted = await session.delete.delete_selection(selection, principal=session.principal)
    call.output.result({"deleted": deleted}, lambda console: console.print(f"{deleted:,} deleted."))


async def restore(call: Call, external_id: ExternalId) -> None:
    """Bring back a deleted document."""
    async with call.services.open(call.target) as session:
        result = await session.restore.restore(external_id, principal=session.principal)
    call.output.result(
        stored(result),
        lambda console: console.print(
            plain(f"{result.external_id} is back: {result.chunks:,} passages, {result.pending:,} without a vector.")
        ),
    )


async def purge(
    call: Call,
    older_than_days: Annotated[
        float, typer.Option("--older-than-days", help="Only what was deleted at least so long ago; 0 for all.")
    ],
    yes: Yes = False,
) -> None:
    """Remove deleted documents for good."""
    async with call.services.open(call.target) as session:
        confirm(call, f"Remove for good what was deleted {older_than_days:g} days ago or earlier?", yes=yes)
        purged = await session.delete.purge(older_than_days=older_than_days, principal=session.principal)
    call.output.result({"purged": purged}, lambda console: console.print(f"{purged:,} removed for good."))


def confirm(call: Call, question: str, *, yes: bool) -> None:
    """Ask on a terminal; elsewhere --yes is needed."""
    if yes:
        return
    if call.output.json or not sys.stdin.isatty():
        raise InvalidInputError("This needs your word.", field="--yes", remedy="Add --yes.")
    call.output.notes.print(plain(f"{question} [y/N] "), end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes", "s", "sí", "si"):
        raise RagcorpError("Nothing was done.")


def document_table(documents: Sequence[Document]) -> Table:
    table = Table("external_id", "title", "type", "chunks", "pending", "updated")
    for document in documents:
        table.add_row(
            plain(document.external_id),
            plain(document.attributes.title),
            plain(document.attributes.artifact_type),
            str(document.chunks),
            str(document.pending),
            f"{document.updated_at:%Y-%m-%d %H:%M}",
        )
    return table
