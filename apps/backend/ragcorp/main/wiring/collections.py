"""Builds the use cases of the collections."""

from __future__ import annotations

from ragcorp.application.documents.edit_chunk import EditChunk
from ragcorp.application.documents.ingest import IngestDocument
from ragcorp.application.documents.list_chunks import ListChunks
from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.documents.revise import ReviseDocument
from ragcorp.application.documents.revision import DocumentRevision
from ragcorp.application.memory.delete_items import DeleteItems
from ragcorp.application.memory.import_history import ImportHistory
from ragcorp.application.memory.list_items import ListItems
from ragcorp.application.memory.save_items import SaveItems
from ragcorp.domain.collections import Collection
from ragcorp.domain.ports.storage import DocumentRepository, DocumentStore
from ragcorp.infrastructure.postgres.chunks.catalogue import PostgresChunkCatalogue
from ragcorp.infrastructure.postgres.collections.facet_counts import PostgresFacetCounts
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.interface.use_cases import CollectionUseCases, ItemUseCases


def make_collections(
    *,
    database: Database,
    repository: DocumentRepository,
    store: DocumentStore,
    preparation: DocumentPreparation,
    ingest: IngestDocument,
    search_timeout_seconds: float,
    max_metadata_bytes: int,
) -> CollectionUseCases:
    catalogue = PostgresChunkCatalogue(database=database)
    revision = DocumentRevision(store=store, preparation=preparation, ingest=ingest)
    history = _items(database, Collection.HISTORY, max_metadata_bytes)
    return CollectionUseCases(
        memory=_items(database, Collection.MEMORY, max_metadata_bytes),
        history=history,
        import_history=ImportHistory(save=history.save),
        chunks=ListChunks(repository=repository, catalogue=catalogue),
        edit_chunk=EditChunk(repository=repository, store=store, catalogue=catalogue, revision=revision),
        revise_document=ReviseDocument(revision=revision),
        facets=PostgresFacetCounts(database, timeout_ms=max(1, int(search_timeout_seconds * 1000))),
    )


def _items(database: Database, collection: Collection, max_metadata_bytes: int) -> ItemUseCases:
    repository = PostgresItemRepository(database=database, collection=collection)
    return ItemUseCases(
        save=SaveItems(collection=collection, repository=repository, max_metadata_bytes=max_metadata_bytes),
        items=ListItems(repository=repository),
        delete=DeleteItems(collection=collection, repository=repository),
    )
