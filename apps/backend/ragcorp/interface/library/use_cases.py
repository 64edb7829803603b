"""What the library's facade calls."""

from __future__ import annotations

from dataclasses import dataclass

from ragcorp.application.choose_language import ChooseLanguage
from ragcorp.application.delete_document import DeleteDocument
from ragcorp.application.embed_pending import EmbedPending
from ragcorp.application.ingest_document import IngestDocument
from ragcorp.application.ingest_folder import IngestFolder
from ragcorp.application.introspect_hydration import IntrospectHydration
from ragcorp.application.list_documents import ListDocuments
from ragcorp.application.load_context import LoadContext
from ragcorp.application.restore_document import RestoreDocument
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
