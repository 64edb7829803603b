"""Builds the use cases of the collections."""

from ragcorp.application.documents.edit_chunk import EditChunk
from ragcorp.application.documents.list_chunks import ListChunks
from ragcorp.application.documents.revise import ReviseDocument
from ragcorp.application.memory.delete_items import DeleteItems
from ragcorp.application.memory.import_history import ImportHistory
from ragcorp.application.memory.list_items import ListItems
from ragcorp.application.memory.save_items import SaveItems
from ragcorp.domain.collections import Collection
from ragcorp.infrastructure.postgres.chunks.catalogue import PostgresChunkCatalogue
from ragcorp.infrastructure.postgres.collections.counts import PostgresFacetCounts
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.interface.use_cases import CollectionUseCases, ItemUseCases
from ragcorp.main.wiring.base import Base
from ragcorp.main.wiring.ingestion import IngestionParts


def make_collections(base: Base, ingestion: IngestionParts) -> CollectionUseCases:
    database, repository, store = base.database, base.repository, base.store
    timeout_ms = max(1, int(base.settings.search_timeout_seconds * 1000))
    catalogue = PostgresChunkCatalogue(database=database)
    revise = ReviseDocument(store=store, preparation=ingestion.preparation, ingest=ingestion.ingest)
    history = _items(base, Collection.HISTORY)
    return CollectionUseCases(
        memory=_items(base, Collection.MEMORY),
        history=history,
        import_history=ImportHistory(save=history.save),
        chunks=ListChunks(repository=repository, catalogue=catalogue),
        edit_chunk=EditChunk(repository=repository, store=store, catalogue=catalogue, revision=revise),
        revise_document=revise,
        facets=PostgresFacetCounts(database, timeout_ms=timeout_ms),
    )


def _items(base: Base, collection: Collection) -> ItemUseCases:
    repository = PostgresItemRepository(database=base.database, collection=collection)
    return ItemUseCases(
        save=SaveItems(
            collection=collection, repository=repository, max_metadata_bytes=base.settings.max_metadata_bytes
        ),
        items=ListItems(repository=repository),
        delete=DeleteItems(collection=collection, repository=repository),
    )
