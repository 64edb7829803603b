"""The use cases of the collections, for all interfaces."""

from __future__ import annotations

from dataclasses import dataclass

from ragcorp.application.documents.edit_chunk import EditChunk
from ragcorp.application.documents.list_chunks import ListChunks
from ragcorp.application.documents.revise import ReviseDocument
from ragcorp.application.memory.delete_items import DeleteItems
from ragcorp.application.memory.import_history import ImportHistory
from ragcorp.application.memory.list_items import ListItems
from ragcorp.application.memory.save_items import SaveItems
from ragcorp.domain.ports.collections import FacetCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemUseCases:
    """The use cases of the items of one collection."""

    save: SaveItems
    items: ListItems
    delete: DeleteItems


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionUseCases:
    """The use cases of all collections; ``artifacts`` also have those of documents."""

    memory: ItemUseCases
    history: ItemUseCases
    import_history: ImportHistory
    chunks: ListChunks
    edit_chunk: EditChunk
    revise_document: ReviseDocument
    facets: FacetCounts
