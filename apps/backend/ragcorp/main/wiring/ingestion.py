"""Builds the ingestion of documents from requests and folders, and the embedding of what is stored."""

from dataclasses import dataclass
from functools import partial

from ragcorp.application.documents.ingest import IngestDocument
from ragcorp.application.documents.preparation import DocumentLimits, DocumentPreparation
from ragcorp.application.documents.recognize import RecognizeText
from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.embedding.passage_vectors import VectorMemory
from ragcorp.application.folders.documents import FolderDocuments
from ragcorp.application.folders.ingest import IngestFolder
from ragcorp.application.folders.sync import SyncFolder
from ragcorp.application.folders.watch import WatchFolder
from ragcorp.application.structure.refresh import RefreshStructure
from ragcorp.domain.ports.recognition import TextRecognizer
from ragcorp.domain.ports.use_cases import BacklogEmbedding
from ragcorp.infrastructure.files.folder import LocalFiles
from ragcorp.infrastructure.files.roots import parse_roots
from ragcorp.infrastructure.files.watching import LocalWatching
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.files.folder_rows import PostgresFolderRecords
from ragcorp.infrastructure.postgres.recognition.backlog import PostgresRecognitionBacklog
from ragcorp.infrastructure.postgres.structure.backlog import PostgresStructureBacklog
from ragcorp.infrastructure.postgres.tables.embedded import OF_ITEMS, STRUCTURE
from ragcorp.infrastructure.sandbox.pool import ChildPool, Limits
from ragcorp.main.settings.durations import PARTS
from ragcorp.main.wiring import reading
from ragcorp.main.wiring.base import Base
from ragcorp.main.wiring.file_search import logical_path
from ragcorp.main.wiring.reading import make_reader
from ragcorp.main.wiring.recognition import ChildRecognizer, make_pool, recognizes

PASSAGES_IN_MEMORY = 2048
"""Vectors of passages in memory: 25 MB at 1,536 dimensions, 6 MB at 384."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionParts:
    parser: MultiFormatParser
    preparation: DocumentPreparation
    ingest: IngestDocument
    ingest_folder: IngestFolder
    watch_folder: WatchFolder
    refresh_structure: RefreshStructure
    recognize: RecognizeText


def make_ingestion(base: Base, *, embed_pending: BacklogEmbedding, recognizer: TextRecognizer | None) -> IngestionParts:
    settings, database = base.settings, base.database
    if recognizer is None and recognizes(settings):
        recognizer = ChildRecognizer(base.closing(make_pool()))
    chunking = {"max_tokens": settings.chunk_max_tokens, "overlap_tokens": settings.chunk_overlap_tokens}
    parser = MultiFormatParser(recognizes=recognizer is not None)
    reader = make_reader(parser, **chunking)
    pool = ChildPool(
        subject=reader,
        module=reading.__name__,
        options=chunking | {"recognizes": recognizer is not None},
        limits=Limits(
            seconds=settings.parse_timeout_seconds,
            memory_bytes=settings.parse_memory_mb << 20,
            processes=settings.parse_processes,
        ),
    )
    preparation = DocumentPreparation(
        reader=reader,
        pool=base.closing(pool),
        limits=DocumentLimits(
            max_file_bytes=settings.max_file_bytes,
            max_metadata_bytes=settings.max_metadata_bytes,
            parts_seconds=PARTS * settings.parse_timeout_seconds,
        ),
    )
    ingest = IngestDocument(
        store=base.store,
        preparation=preparation,
        embed_pending=embed_pending if base.embeds else None,
        embed_wait_seconds=settings.embed_wait_seconds,
    )
    files = LocalFiles(suffixes=parser.suffixes, max_bytes=settings.max_file_bytes)
    records = PostgresFolderRecords(database=database, statistics=base.statistics)
    documents = FolderDocuments(
        ingest=ingest,
        preparation=preparation,
        files=files,
        records=records,
        logical_path=partial(logical_path, parse_roots(settings.allowed_paths)),
        artifact_type_of=parser.artifact_type,
    )
    return IngestionParts(
        parser=parser,
        preparation=preparation,
        ingest=ingest,
        ingest_folder=IngestFolder(documents=documents, files=files, default_language=settings.default_language),
        watch_folder=WatchFolder(
            sync=SyncFolder(documents=documents, files=files, records=records), files=files, watching=LocalWatching()
        ),
        refresh_structure=RefreshStructure(
            backlog=PostgresStructureBacklog(database=database),
            fingerprint=reader.structure.fingerprint if reader.structure else "",
            extract=preparation.extract,
        ),
        recognize=RecognizeText(
            backlog=PostgresRecognitionBacklog(database=database, statistics=base.statistics),
            recognizer=recognizer,
            preparation=preparation,
        ),
    )


def make_embedding(base: Base, cache: PostgresEmbeddingCache) -> EmbedPending:
    database = base.database
    return EmbedPending(
        embedder=base.embedder,
        backlogs=(
            PostgresEmbeddingBacklog(database=database, statistics=base.statistics),
            PostgresEmbeddingBacklog(database=database, table=STRUCTURE),
        ),
        item_backlogs=tuple(PostgresEmbeddingBacklog(database=database, table=table) for table in OF_ITEMS),
        cache=cache,
        memory=VectorMemory(size=PASSAGES_IN_MEMORY, ttl_seconds=base.settings.embedding_cache_ttl),
        observer=base.cache_observers,
    )
