"""Builds the use cases of the collections."""

from __future__ import annotations

from ragcorp.application.count_facets import CountFacets
from ragcorp.application.delete_items import DeleteItems
from ragcorp.application.document_preparation import DocumentPreparation
from ragcorp.application.document_revision import DocumentRevision
from ragcorp.application.edit_chunk import EditChunk
from ragcorp.application.import_history import ImportHistory
from ragcorp.application.ingest_document import IngestDocument
from ragcorp.application.list_chunks import ListChunks
from ragcorp.application.list_items import ListItems
from ragcorp.application.revise_document import ReviseDocument
from ragcorp.application.save_items import SaveItems
from ragcorp.domain.collections import Collection
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.infrastructure.postgres.chunk_catalogue import PostgresChunkCatalogue
from ragcorp.infrastructure.postgres.database import Database
from ragcorp.infrastructure.postgres.facet_counts import PostgresFacetCounts
from ragcorp.infrastructure.postgres.item_repository import PostgresItemRepository
from ragcorp.interface.collection_use_cases import CollectionUseCases, ItemUseCases


def make_collections(
    *,
    database: Database,
    repository: DocumentRepository,
    preparation: DocumentPreparation,
    ingest: IngestDocument,
    search_timeout_seconds: float,
    max_metadata_bytes: int,
) -> CollectionUseCases:
    catalogue = PostgresChunkCatalogue(database=database)
    revision = DocumentRevision(repository=repository, preparation=preparation, ingest=ingest)
    history = _items(database, Collection.HISTORY, max_metadata_bytes)
    return CollectionUseCases(
        memory=_items(database, Collection.MEMORY, max_metadata_bytes),
        history=history,
        import_history=ImportHistory(save=history.save),
        chunks=ListChunks(repository=repository, catalogue=catalogue),
        edit_chunk=EditChunk(repository=repository, catalogue=catalogue, revision=revision),
        revise_document=ReviseDocument(revision=revision),
        facets=CountFacets(counts=PostgresFacetCounts(database, timeout_ms=max(1, int(search_timeout_seconds * 1000)))),
    )


def _items(database: Database, collection: Collection, max_metadata_bytes: int) -> ItemUseCases:
    repository = PostgresItemRepository(database=database, collection=collection)
    return ItemUseCases(
        save=SaveItems(collection=collection, repository=repository, max_metadata_bytes=max_metadata_bytes),
        items=ListItems(repository=repository),
        delete=DeleteItems(collection=collection, repository=repository),
    )
