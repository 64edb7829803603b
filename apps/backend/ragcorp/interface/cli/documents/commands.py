"""`ragcorp documents`."""

import base64
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

from typer import Option

from ragcorp.domain.documents import Document
from ragcorp.domain.exceptions import InvalidInputError, RagcorpError
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import OptionalId, PageOptions, SelectionOptions, Yes, argument, option
from ragcorp.interface.cli.console.output import Cells, minutes, plain
from ragcorp.interface.cli.console.services import Session
from ragcorp.interface.shapes.documents import described_document, stored, stored_document
from ragcorp.interface.shapes.json_text import json_object
from ragcorp.interface.shapes.recognition import recognition_in_words
from ragcorp.interface.shapes.unread import unread_in_words

ExternalId = Annotated[str, argument(metavar="EXTERNAL_ID", help="The document's own name.")]

DOCUMENT_CELLS: Cells[Document] = {
    "external_id": lambda document: document.external_id,
    "title": lambda document: document.attributes.title,
    "type": lambda document: document.attributes.artifact_type,
    "chunks": lambda document: document.chunks,
    "pending": lambda document: document.pending,
    "updated": lambda document: minutes(document.updated_at),
}


async def list_documents(
    call: Call,
    page: PageOptions,
    deleted: Annotated[bool, Option("--deleted", help="Those that were deleted and can be restored.")] = False,
) -> None:
    """List documents in the order of their external_id."""
    selection = DocumentSelection(prefix=page.prefix, filters=page.conditions, deleted=deleted)
    async with call.open() as session:
        listed = await session.use_cases.documents.list(
            selection, principal=session.principal, limit=page.limit, cursor=page.cursor
        )
    call.output.page("documents", *listed, document_of=stored_document, cells=DOCUMENT_CELLS)


async def show(call: Call, external_id: ExternalId) -> None:
    """Show what is known of a document."""
    async with call.open() as session:
        document = await session.use_cases.documents.get(external_id, principal=session.principal)
    shape = json_object(described_document(document))
    words = {
        "unread": unread_in_words(document.unread),
        "recognition": recognition_in_words(document.recognition),
        "parts": ", ".join(document.parts),
    }
    call.output.values(shape if call.output.json else shape | words)


async def content(
    call: Call,
    external_id: ExternalId,
    output: Annotated[Path | None, option("--output", "-o", help="Write it to this file, not to stdout.")] = None,
) -> None:
    """Give back the original, byte for byte."""
    async with call.open() as session:
        file = await session.use_cases.documents.get_source(external_id, principal=session.principal)
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
        call.output.line(about, f"{len(file.content):,} bytes written.")
    elif call.output.json:
        try:
            about["text"] = file.content.decode()
        except UnicodeDecodeError:
            about["base64"] = base64.b64encode(file.content).decode()
        call.output.write_json(about)
    else:
        call.output.write_bytes(file.content)


async def delete(call: Call, selected: SelectionOptions, external_id: OptionalId = None, yes: Yes = False) -> None:
    """Hide a document, or all that a prefix and filters select. `restore` brings back what was not purged."""
    selection = DocumentSelection(prefix=selected.prefix, filters=selected.conditions)
    await delete_one_or_selection(
        call,
        "document",
        external_id,
        selected,
        one=lambda session, name: session.use_cases.delete.delete(name, principal=session.principal),
        several=lambda session: session.use_cases.delete.delete_selection(selection, principal=session.principal),
        yes=yes,
    )


async def restore(call: Call, external_id: ExternalId) -> None:
    """Bring back a deleted document."""
    async with call.open() as session:
        result = await session.use_cases.restore.restore(external_id, principal=session.principal)
    call.output.line(
        stored(result),
        f"{result.external_id} is back: {result.chunks:,} passages, {result.pending:,} without a vector.",
    )


async def purge(
    call: Call,
    older_than_days: Annotated[
        float, Option("--older-than-days", help="Only what was deleted at least so long ago; 0 for all.")
    ],
    yes: Yes = False,
) -> None:
    """Remove deleted documents for good."""
    async with call.open() as session:
        confirm(call, f"Remove for good what was deleted {older_than_days:g} days ago or earlier?", yes=yes)
        purged = await session.use_cases.delete.purge(older_than_days=older_than_days, principal=session.principal)
    call.output.line({"purged": purged}, f"{purged:,} removed for good.")


async def delete_one_or_selection(
    call: Call,
    noun: str,
    external_id: str | None,
    selected: SelectionOptions,
    *,
    one: Callable[[Session, str], Awaitable[None]],
    several: Callable[[Session], Awaitable[int]],
    for_good: bool = False,
    yes: bool,
) -> None:
    """Delete after a confirmation, and show how many. Raises InvalidInputError unless exactly one of both is given."""
    if (external_id is None) == (not selected.prefix and not selected.filters):
        raise InvalidInputError(
            f"Name one {noun}, or a selection.",
            field="EXTERNAL_ID",
            remedy="Give an external_id, or else --prefix and/or --filter.",
        )
    subject = f"all {noun}s of this selection" if external_id is None else f"the {noun} {external_id}"
    async with call.open() as session:
        confirm(call, f"Delete {subject}{' for good' if for_good else ''}?", yes=yes)
        if external_id is None:
            deleted = await several(session)
        else:
            await one(session, external_id)
            deleted = 1
    call.output.line({"deleted": deleted}, f"{deleted:,} deleted.")


def confirm(call: Call, question: str, *, yes: bool) -> None:
    """Ask on a terminal; elsewhere --yes is required. Raises InvalidInputError or RagcorpError."""
    if yes:
        return
    if call.output.json or not sys.stdin.isatty():
        raise InvalidInputError("This needs your word.", field="--yes", remedy="Add --yes.")
    call.output.notes.print(plain(f"{question} [y/N] "), end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes", "s", "sí", "si"):
        raise RagcorpError("Nothing was done.")
