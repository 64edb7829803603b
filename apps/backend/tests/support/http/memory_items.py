"""The ports of the collections in memory, and the use cases over them, which are the real ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ragcorp.application.documents.edit_chunk import EditChunk
from ragcorp.application.documents.ingest import IngestDocument
from ragcorp.application.documents.list_chunks import ListChunks
from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.documents.revise import ReviseDocument
from ragcorp.application.documents.revision import DocumentRevision
from ragcorp.application.files.filter_evaluation import meets
from ragcorp.application.memory.delete_items import DeleteItems
from ragcorp.application.memory.import_history import ImportHistory
from ragcorp.application.memory.list_items import ListItems
from ragcorp.application.memory.save_items import SaveItems
from ragcorp.domain.collections import (
    Collection,
    Facets,
    Item,
    ItemDraft,
    ItemOutcome,
    ItemPage,
    ItemSelection,
)
from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.filters import METADATA, Filters
from ragcorp.domain.ports.chunks import ChunkPage, ChunkPosition, ChunkSelection
from ragcorp.domain.principal import Principal
from ragcorp.interface.use_cases import CollectionUseCases, ItemUseCases
from support.http.memory_repository import Fault, InMemoryRepository

STORED_AT = datetime(2026, 3, 1, tzinfo=UTC)


class InMemoryItems:
    """The port ItemRepository for one caller."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.fault = Fault()
        self.drafts: dict[str, ItemDraft] = {}

    async def save_many(self, drafts: Sequence[ItemDraft], *, principal: Principal) -> list[ItemOutcome]:
        await self.fault.strike()
        return [self._save(draft) for draft in drafts]

    def _save(self, draft: ItemDraft) -> ItemOutcome:
        name = draft.external_id or draft.named_after or f"made-{len(self.drafts)}"
        known = self.drafts.get(name)
        self.drafts[name] = draft
        status = IngestStatus.UPDATED if known else IngestStatus.CREATED
        return ItemOutcome(external_id=name, status=IngestStatus.UNCHANGED if known == draft else status)

    async def change(
        self, external_id: str, change: Callable[[Item], ItemDraft], *, principal: Principal
    ) -> ItemOutcome:
        await self.fault.strike()
        return self._save(change(self._item(external_id)))

    async def get(self, external_id: str, *, principal: Principal) -> Item:
        await self.fault.strike()
        return self._item(external_id)

    async def list_page(
        self, selection: ItemSelection, *, principal: Principal, limit: int, after: str | None = None
    ) -> ItemPage:
        await self.fault.strike()
        left = [name for name in self._selected(selection) if after is None or name > after]
        page = tuple(self._item(name) for name in left[:limit])
        return ItemPage(items=page, next_after=page[-1].external_id if len(left) > limit else None)

    async def latest_of_conversation(self, session: str, *, principal: Principal, limit: int) -> list[Item]:
        return [self._item(name) for name, draft in self.drafts.items() if draft.session == session][-limit:]

    async def delete_one(self, external_id: str, *, principal: Principal) -> None:
        await self.fault.strike()
        self._item(external_id)
        del self.drafts[external_id]

    async def delete(self, selection: ItemSelection, *, principal: Principal) -> int:
        await self.fault.strike()
        selected = self._selected(selection)
        for name in selected:
            del self.drafts[name]
        return len(selected)

    def _selected(self, selection: ItemSelection) -> list[str]:
        return [
            name
            for name, draft in sorted(self.drafts.items())
            if name.startswith(selection.prefix) and meets(selection.filters, self._fields(name, draft))
        ]

    def _fields(self, name: str, draft: ItemDraft) -> dict[str, object]:
        about = draft.attributes
        return {
            "external_id": name,
            "collection": self.collection,
            "language": about.language,
            "artifact_type": about.artifact_type,
            "session": draft.session,
            "speaker": draft.speaker,
            METADATA: about.metadata,
        }

    def _item(self, external_id: str) -> Item:
        if external_id not in self.drafts:
            raise NotFoundError("There is no such item.", field="external_id")
        draft = self.drafts[external_id]
        return Item(
            id=str(len(external_id)),
            collection=self.collection,
            external_id=external_id,
            text=draft.text,
            attributes=draft.attributes,
            session=draft.session,
            speaker=draft.speaker,
            entities=draft.entities,
            pending=True,
            created_at=STORED_AT,
            updated_at=STORED_AT,
        )


class InMemoryCatalogue:
    """The port ChunkCatalogue over the documents in memory."""

    def __init__(self, repository: InMemoryRepository) -> None:
        self._repository = repository

    async def list_page(
        self, selection: ChunkSelection, *, principal: Principal, limit: int, after: ChunkPosition | None = None
    ) -> ChunkPage:
        await self._repository.fault.strike()
        first, last = selection.lines or (0, 2**31)
        left = [
            chunk
            for chunk in self._repository.chunks(selection.filters)
            if chunk.external_id.startswith(selection.prefix)
            and selection.artifact in (None, chunk.external_id)
            and (after is None or (chunk.external_id, chunk.chunk_index) > after)
            and chunk.line_start <= last
            and chunk.line_end >= first
        ]
        end = left[limit - 1] if len(left) > limit else None
        return ChunkPage(chunks=tuple(left[:limit]), next_after=(end.external_id, end.chunk_index) if end else None)


@dataclass
class InMemoryCollections:
    """Items of memory and history, and the use cases of the collections."""

    documents: InMemoryRepository
    memory: InMemoryItems = field(default_factory=lambda: InMemoryItems(Collection.MEMORY))
    history: InMemoryItems = field(default_factory=lambda: InMemoryItems(Collection.HISTORY))

    async def count(self, *, principal: Principal, filters: Filters = ()) -> Facets:
        """Count as the port FacetCounts does, by collection and type."""
        await self.memory.fault.strike()
        selection = ItemSelection(filters=filters)
        items = [
            item
            for store in (self.memory, self.history)
            for item in (await store.list_page(selection, principal=principal, limit=10**6)).items
        ]
        return Facets(
            counts={
                "collection": Counter(str(item.collection) for item in items),
                "artifact_type": Counter(str(item.attributes.artifact_type) for item in items),
            }
        )

    def use_cases(self, *, preparation: DocumentPreparation, ingest: IngestDocument) -> CollectionUseCases:
        catalogue = InMemoryCatalogue(self.documents)
        revision = DocumentRevision(store=self.documents, preparation=preparation, ingest=ingest)
        history = _items(self.history)
        return CollectionUseCases(
            memory=_items(self.memory),
            history=history,
            import_history=ImportHistory(save=history.save),
            chunks=ListChunks(repository=self.documents, catalogue=catalogue),
            edit_chunk=EditChunk(
                repository=self.documents, store=self.documents, catalogue=catalogue, revision=revision
            ),
            revise_document=ReviseDocument(revision=revision),
            facets=self,
        )


def _items(store: InMemoryItems) -> ItemUseCases:
    return ItemUseCases(
        save=SaveItems(collection=store.collection, repository=store),
        items=ListItems(repository=store),
        delete=DeleteItems(collection=store.collection, repository=store),
    )
