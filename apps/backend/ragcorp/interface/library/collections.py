"""``rag.memory``, ``rag.history``, ``rag.artifacts`` and ``rag.chunks``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from ragcorp.application.documents.edit_chunk import ChunkEdit
from ragcorp.application.memory.chat_turns import TurnDefaults
from ragcorp.application.validation.item_changes import KEEP, AttributeChange, ItemChange, Keep
from ragcorp.application.validation.item_drafts import item_draft
from ragcorp.application.validation.json_lines import LoadReport
from ragcorp.domain.collections import TURN, Collection, Item, ItemSelection, MemoryKind
from ragcorp.domain.documents import Chunk, DocumentAttributes, WriteOutcome
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.chunks import ChunkSelection
from ragcorp.domain.principal import Principal
from ragcorp.interface.library.attributes import (
    DocumentAttributeChanges,
    ItemAttributeChanges,
    ItemAttributes,
    attributes_of,
)
from ragcorp.interface.line_files import opened_or_given
from ragcorp.interface.request_values import parse_selection
from ragcorp.interface.use_cases import UseCases

_TYPES = {Collection.MEMORY: MemoryKind.FACT, Collection.HISTORY: TURN}


class Facade:
    """A part of ``Rag`` for one caller."""

    def __init__(self, use_cases: UseCases, *, principal: Principal) -> None:
        self._use_cases = use_cases
        self._principal = principal


class Items(Facade):
    """The items of memory or history.

    >>> rag.memory.add('Marta prefiere las entregas por la mañana', artifact_type='preference').status.value
    'created'
    """

    def __init__(self, use_cases: UseCases, *, principal: Principal, collection: Collection) -> None:
        super().__init__(use_cases, principal=principal)
        self._collection = collection
        self._items = use_cases.collections.items_of(collection)

    async def add(
        self,
        text: str,
        *,
        external_id: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        entities: Sequence[str] = (),
        **attributes: Unpack[ItemAttributes],
    ) -> WriteOutcome:
        """Create the item or replace the one of that name; without ``external_id`` the content names it."""
        draft = item_draft(
            collection=self._collection,
            text=text,
            external_id=external_id,
            session=session,
            speaker=speaker,
            entities=entities,
            attributes=attributes_of(
                attributes,
                kind=attributes.get("artifact_type") or _TYPES[self._collection],
                default_language=self._use_cases.default_language,
            ),
        )
        return await self._items.save.save(draft, principal=self._principal)

    async def update(
        self,
        external_id: str,
        *,
        text: str | Keep = KEEP,
        session: str | Keep | None = KEEP,
        speaker: str | Keep | None = KEEP,
        entities: Sequence[str] | Keep = KEEP,
        **attributes: Unpack[ItemAttributeChanges],
    ) -> WriteOutcome:
        """Change what is given; ``metadata`` and ``entities`` are replaced as a whole."""
        change = ItemChange(
            text=text, attributes=AttributeChange(**attributes), session=session, speaker=speaker, entities=entities
        )
        return await self._items.save.change(external_id, change, principal=self._principal)

    async def list(
        self,
        *,
        prefix: str = "",
        filters: Mapping[str, object] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[tuple[Item, ...], str | None]:
        """Return a page of items in the order of external_id, and the cursor of the next page."""
        selection = ItemSelection(prefix=prefix, filters=parse_selection(filters))
        return await self._items.items.list(selection, principal=self._principal, limit=limit, cursor=cursor)

    async def get(self, external_id: str) -> Item:
        return await self._items.items.get(external_id, principal=self._principal)

    async def delete(self, external_id: str) -> None:
        await self._items.delete.delete(external_id, principal=self._principal)

    async def delete_selection(self, *, prefix: str = "", filters: Mapping[str, object] | None = None) -> int:
        """Remove all selected items for good; return how many."""
        return await self._items.delete.delete_selection(
            ItemSelection(prefix=prefix, filters=parse_selection(filters)), principal=self._principal
        )


class History(Items):
    """The turns of conversations.

    >>> turn = b'{"session": "s-1", "speaker": "Marta", "timestamp": "2026-11-02T10:00:00Z", "text": "Hola"}'
    >>> rag.history.import_lines([turn]).created
    1
    """

    async def import_lines(
        self,
        lines: Iterable[bytes] | str | Path,
        *,
        session: str | None = None,
        attributes: DocumentAttributes | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> LoadReport:
        """Import a chat export, one JSON object a line: a file by its path, or the lines themselves.

        A bad line is reported and stops no other; what was imported before is unchanged.
        """
        attributes = attributes or DocumentAttributes(language=self._use_cases.default_language)
        defaults = TurnDefaults(attributes=attributes, session=session)
        with opened_or_given(lines) as opened:
            return await self._use_cases.collections.import_history.import_history(
                opened, principal=self._principal, defaults=defaults, on_progress=on_progress
            )


class Artifacts(Facade):
    """Documents whose parts can be changed.

    >>> rag.artifacts.update('contrato.md', title='Contrato marco').status.value
    'updated'
    """

    async def update(
        self, external_id: str, *, text: str | None = None, **attributes: Unpack[DocumentAttributeChanges]
    ) -> IngestResult:
        """Change what is given.

        Raises ConflictError if the document was written meanwhile, or for a new ``text`` of a file that is not text.
        """
        change = AttributeChange(**attributes)
        revise_document = self._use_cases.collections.revise_document
        return await revise_document.revise(external_id, change, text=text, principal=self._principal)


class Chunks(Facade):
    """The passages of documents. An edit changes the document's text.

    >>> passages, cursor = rag.chunks.list(artifact='contrato.md')
    >>> passages[0].content
    'El plazo de entrega es de 30 días hábiles.'
    """

    def __init__(self, use_cases: UseCases, *, principal: Principal) -> None:
        super().__init__(use_cases, principal=principal)
        self._chunks = use_cases.collections.chunks
        self._edit = use_cases.collections.edit_chunk

    async def list(
        self,
        *,
        artifact: str | None = None,
        prefix: str = "",
        filters: Mapping[str, object] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[tuple[Chunk, ...], str | None]:
        """Return a page of passages in the order of their documents and of the text, and the next page's cursor."""
        selection = ChunkSelection(prefix=prefix, artifact=artifact, filters=parse_selection(filters))
        return await self._chunks.list(selection, principal=self._principal, limit=limit, cursor=cursor)

    async def get(self, chunk_id: str) -> Chunk:
        return await self._chunks.get(chunk_id, principal=self._principal)

    async def add(self, artifact: str, text: str, *, after: int | None = None) -> ChunkEdit:
        """Add a passage after the one of index ``after``, or at the end."""
        return await self._edit.add(artifact, text, after=after, principal=self._principal)

    async def replace(self, chunk_id: str, text: str) -> ChunkEdit:
        return await self._edit.replace(chunk_id, text, principal=self._principal)

    async def remove(self, chunk_id: str) -> ChunkEdit:
        return await self._edit.remove(chunk_id, principal=self._principal)
