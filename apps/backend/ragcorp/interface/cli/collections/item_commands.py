"""`ragcorp memory` and `ragcorp history`: the items of one collection."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from ragcorp.application.validation.item_changes import KEEP, ItemChange
from ragcorp.application.validation.item_drafts import item_draft
from ragcorp.domain.collections import TURN, Collection, Item, ItemOutcome, ItemSelection, MemoryKind
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.interface.cli.collections import item_options as options
from ragcorp.interface.cli.console.arguments import parse_selection_pairs
from ragcorp.interface.cli.console.calls import Call, CommandFunction
from ragcorp.interface.cli.console.output import plain
from ragcorp.interface.cli.console.services import Session
from ragcorp.interface.cli.documents.commands import Yes, confirm
from ragcorp.interface.cli.search.commands import Filter
from ragcorp.interface.collection_use_cases import ItemUseCases
from ragcorp.interface.shapes.items import item_outcome, stored_item

DEFAULT_TYPES = {Collection.MEMORY: MemoryKind.FACT, Collection.HISTORY: TURN}
SHOWN_CHARACTERS = 80

Prefix = Annotated[str, typer.Option("--prefix", help="Items whose external_id starts so.", show_default=False)]


class ItemCommands:
    """The commands of one collection."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def by_verb(self) -> dict[str, CommandFunction]:
        return {
            "add": self.add,
            "list": self.list_items,
            "get": self.get,
            "update": self.update,
            "delete": self.delete,
        }

    async def add(
        self,
        call: Call,
        text: options.Text,
        item: options.ItemOptions,
        external_id: options.ExternalId = None,
        session: options.InSession = None,
        speaker: options.Speaker = None,
        entity: options.Entity = None,
        no_embed: options.NoEmbed = False,
    ) -> None:
        """Add an item, or replace the one of that name."""
        when = options.time_of(item.occurred_at)
        written = options.text_of(text)
        async with call.services.open(call.target) as opened:
            draft = item_draft(
                collection=self._collection,
                text=written,
                external_id=external_id,
                session=session,
                speaker=speaker,
                entities=entity or (),
                attributes=item.attributes(
                    artifact_type=item.kind or DEFAULT_TYPES[self._collection],
                    default_language=opened.default_language,
                    occurred_at=when,
                ),
            )
            outcome = await self._of(opened).save.save(draft, principal=opened.principal)
            await make_vectors_now(opened, no_embed=no_embed)
        self._show(call, outcome)

    async def update(
        self,
        call: Call,
        external_id: options.ItemId,
        item: options.ItemOptions,
        text: options.NewText = None,
        session: options.InSession = None,
        speaker: options.Speaker = None,
        entity: options.Entity = None,
        no_embed: options.NoEmbed = False,
    ) -> None:
        """Change what is given; all else stays. --metadata and --entity replace all that there was."""
        change = ItemChange(
            text=KEEP if text is None else options.text_of(text),
            attributes=item.change(),
            session=options.given(session),
            speaker=options.given(speaker),
            entities=options.given(entity),
        )
        require_change(change == ItemChange())
        async with call.services.open(call.target) as opened:
            outcome = await self._of(opened).save.change(external_id, change, principal=opened.principal)
            await make_vectors_now(opened, no_embed=no_embed)
        self._show(call, outcome)

    async def list_items(
        self,
        call: Call,
        prefix: Prefix = "",
        filters: Filter = None,
        limit: options.Limit = 50,
        cursor: options.Cursor = None,
    ) -> None:
        """List items in the order of their external_id."""
        selection = ItemSelection(prefix=prefix, filters=parse_selection_pairs(filters))
        async with call.services.open(call.target) as opened:
            items, next_cursor = await self._of(opened).items.list(
                selection, principal=opened.principal, limit=limit, cursor=cursor
            )
        call.output.page(
            {"items": [stored_item(item) for item in items], "next_cursor": next_cursor},
            _item_table(items),
            next_cursor,
        )

    async def get(self, call: Call, external_id: options.ItemId) -> None:
        """Show an item."""
        async with call.services.open(call.target) as opened:
            item = await self._of(opened).items.get(external_id, principal=opened.principal)
        call.output.fields(stored_item(item))

    async def delete(
        self,
        call: Call,
        external_id: Annotated[
            str | None, typer.Argument(metavar="[EXTERNAL_ID]", help="One item.", show_default=False)
        ] = None,
        prefix: Prefix = "",
        filters: Filter = None,
        yes: Yes = False,
    ) -> None:
        """Delete an item for good, or all that a prefix and filters select."""
        selection = ItemSelection(prefix=prefix, filters=parse_selection_pairs(filters))
        if (external_id is None) == (not selection.prefix and not selection.filters):
            raise InvalidInputError(
                "Name one item, or a selection.",
                field="EXTERNAL_ID",
                remedy="Give an external_id, or else --prefix and/or --filter.",
            )
        what = "all items of this selection" if external_id is None else f"the item {external_id}"
        async with call.services.open(call.target) as opened:
            confirm(call, f"Delete {what} for good?", yes=yes)
            delete = self._of(opened).delete
            if external_id is None:
                deleted = await delete.delete_selection(selection, principal=opened.principal)
            else:
                await delete.delete(external_id, principal=opened.principal)
                deleted = 1
        call.output.result({"deleted": deleted}, lambda console: console.print(f"{deleted:,} deleted."))

    def _of(self, session: Session) -> ItemUseCases:
        collections = session.collections
        return collections.memory if self._collection is Collection.MEMORY else collections.history

    def _show(self, call: Call, outcome: ItemOutcome) -> None:
        call.output.result(
            item_outcome(self._collection, outcome),
            lambda console: console.print(plain(f"{outcome.external_id} {outcome.status}")),
        )


def require_change(nothing: bool) -> None:
    """Raise InvalidInputError if nothing is to be changed."""
    if nothing:
        raise InvalidInputError("Nothing is to be changed.", field="--text", remedy="Give at least one option.")


async def make_vectors_now(session: Session, *, no_embed: bool) -> None:
    """Make a batch of the vectors that are due, unless there is no model or another process is to make them."""
    if session.makes_vectors and not no_embed:
        await session.embed_pending.embed()


def _item_table(items: tuple[Item, ...]) -> Table:
    table = Table("external_id", "type", "time", "session", "speaker", "text")
    for item in items:
        when = item.attributes.occurred_at
        table.add_row(
            plain(item.external_id),
            plain(item.attributes.artifact_type),
            f"{when:%Y-%m-%d %H:%M}" if when else "",
            plain(item.session or ""),
            plain(item.speaker or ""),
            plain(shortened(item.text)),
        )
    return table


def shortened(text: str) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text[: 2 * SHOWN_CHARACTERS].split())
    return (
        line if len(line) <= SHOWN_CHARACTERS and len(text) <= 2 * SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"
    )
