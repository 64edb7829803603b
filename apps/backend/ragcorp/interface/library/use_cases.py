"""What the library's facade calls."""

from __future__ import annotations

from dataclasses import dataclass

from ragcorp.application.documents.delete import DeleteDocument
from ragcorp.application.documents.ingest import IngestDocument
from ragcorp.application.documents.list import ListDocuments
from ragcorp.application.documents.restore import RestoreDocument
from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.folders.ingest import IngestFolder
from ragcorp.application.hydration.introspect import IntrospectHydration
from ragcorp.application.memory.load_context import LoadContext
from ragcorp.application.workspaces.choose_language import ChooseLanguage
from ragcorp.domain.ports.file_search import FileGrep, FileReading
from ragcorp.domain.ports.use_cases import ChunkSearch, QuestionAnswering
from ragcorp.interface.collection_use_cases import CollectionUseCases
from ragcorp.interface.graph_use_cases import GraphUseCases


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    """The use cases, one each."""

    search: ChunkSearch
    answer: QuestionAnswering
    context: LoadContext
    ingest: IngestDocument
    ingest_folder: IngestFolder
    delete: DeleteDocument
    restore: RestoreDocument
    documents: ListDocuments
    collections: CollectionUseCases
    graph: GraphUseCases
    grep: FileGrep
    read_file: FileReading
    introspect: IntrospectHydration
    embed_pending: EmbedPending
    language: ChooseLanguage
    default_language: str
