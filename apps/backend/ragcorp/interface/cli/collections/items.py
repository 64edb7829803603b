"""`ragcorp memory` and `ragcorp history`: the items of one collection."""

from dataclasses import dataclass
from typing import Annotated

from ragcorp.application.validation.item_changes import ItemChange
from ragcorp.application.validation.item_drafts import item_draft
from ragcorp.domain.collections import TURN, Collection, Item, ItemSelection, MemoryKind
from ragcorp.domain.documents import WriteOutcome
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.interface.cli.console import options
from ragcorp.interface.cli.console.calls import Call, CommandFunction
from ragcorp.interface.cli.console.options import PageOptions, SelectionOptions, option, or_keep
from ragcorp.interface.cli.console.output import Cells, minutes, shortened
from ragcorp.interface.cli.console.services import Session
from ragcorp.interface.cli.documents.commands import delete_one_or_selection
from ragcorp.interface.cli.documents.vectors import embed_batch
from ragcorp.interface.shapes.items import item_outcome, stored_item
from ragcorp.interface.use_cases import ItemUseCases

DEFAULT_TYPES = {Collection.MEMORY: MemoryKind.FACT, Collection.HISTORY: TURN}

ITEM_CELLS: Cells[Item] = {
    "external_id": lambda item: item.external_id,
    "type": lambda item: item.attributes.artifact_type,
    "time": lambda item: minutes(item.attributes.occurred_at),
    "session": lambda item: item.session,
    "speaker": lambda item: item.speaker,
    "text": lambda item: shortened(item.text),
}


@dataclass(frozen=True, kw_only=True)
class TurnOptions(options.ItemOptions):
    """Attributes of an item, with its conversation."""

    session: Annotated[str | None, option("--session", help="The conversation that it belongs to.")] = None
    speaker: Annotated[str | None, option("--speaker", help="Who said it.")] = None
    entity: Annotated[
        list[str] | None, option("--entity", metavar="NAME", help="Whom or what it names; may be given again.")
    ] = None


class ItemCommands:
    """The commands of one collection."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def by_verb(self) -> dict[str, CommandFunction]:
        return {"add": self.add, "list": self.list_items, "get": self.get, "update": self.update, "delete": self.delete}

    async def add(
        self,
        call: Call,
        text: options.Text,
        described: TurnOptions,
        external_id: options.ExternalId = None,
        no_embed: options.NoEmbed = False,
    ) -> None:
        """Add an item, or replace the one of that name."""
        async with call.open() as session:
            draft = item_draft(
                collection=self._collection,
                text=text,
                external_id=external_id,
                session=described.session,
                speaker=described.speaker,
                entities=described.entity or (),
                attributes=described.attributes(
                    kind=DEFAULT_TYPES[self._collection], default_language=session.use_cases.default_language
                ),
            )
            outcome = await self._items(session).save.save(draft, principal=session.principal)
            await embed_batch(session, no_embed=no_embed)
        self._show(call, outcome)

    async def update(
        self,
        call: Call,
        external_id: options.ItemId,
        described: TurnOptions,
        text: options.NewText = None,
        no_embed: options.NoEmbed = False,
    ) -> None:
        """Change what is given; all else stays. --metadata and --entity replace all that there was."""
        change = ItemChange(
            text=or_keep(text),
            attributes=described.change(),
            session=or_keep(described.session),
            speaker=or_keep(described.speaker),
            entities=or_keep(described.entity),
        )
        require_change(change != ItemChange())
        async with call.open() as session:
            outcome = await self._items(session).save.change(external_id, change, principal=session.principal)
            await embed_batch(session, no_embed=no_embed)
        self._show(call, outcome)

    async def list_items(self, call: Call, page: PageOptions) -> None:
        """List items in the order of their external_id."""
        selection = ItemSelection(prefix=page.prefix, filters=page.conditions)
        async with call.open() as session:
            listed = await self._items(session).items.list(
                selection, principal=session.principal, limit=page.limit, cursor=page.cursor
            )
        call.output.page("items", *listed, document_of=stored_item, cells=ITEM_CELLS)

    async def get(self, call: Call, external_id: options.ItemId) -> None:
        """Show an item."""
        async with call.open() as session:
            item = await self._items(session).items.get(external_id, principal=session.principal)
        call.output.values(stored_item(item))

    async def delete(
        self, call: Call, selected: SelectionOptions, external_id: options.OptionalId = None, yes: options.Yes = False
    ) -> None:
        """Delete an item for good, or all that a prefix and filters select."""
        selection = ItemSelection(prefix=selected.prefix, filters=selected.conditions)
        await delete_one_or_selection(
            call,
            "item",
            external_id,
            selected,
            one=lambda session, name: self._items(session).delete.delete(name, principal=session.principal),
            several=lambda session: self._items(session).delete.delete_selection(
                selection, principal=session.principal
            ),
            for_good=True,
            yes=yes,
        )

    def _items(self, session: Session) -> ItemUseCases:
        return session.use_cases.collections.items_of(self._collection)

    def _show(self, call: Call, outcome: WriteOutcome) -> None:
        call.output.line(item_outcome(self._collection, outcome), f"{outcome.external_id} {outcome.status}")


def require_change(changes: bool) -> None:
    """Raise InvalidInputError if no option changes anything."""
    if not changes:
        raise InvalidInputError("Nothing is to be changed.", field="--text", remedy="Give at least one option.")
