"""The use cases that the composition root builds once for library, HTTP, MCP, CLI and TUI."""

from dataclasses import dataclass

from ragcorp.application.documents.delete import DeleteDocument
from ragcorp.application.documents.edit_chunk import EditChunk
from ragcorp.application.documents.ingest import IngestDocument
from ragcorp.application.documents.list import ListDocuments
from ragcorp.application.documents.list_chunks import ListChunks
from ragcorp.application.documents.recognize import RecognizeText
from ragcorp.application.documents.restore import RestoreDocument
from ragcorp.application.documents.revise import ReviseDocument
from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.embedding.prune import PruneEmbeddings
from ragcorp.application.files.grep import GrepFiles
from ragcorp.application.files.read import ReadFile
from ragcorp.application.folders.ingest import IngestFolder
from ragcorp.application.folders.watch import WatchFolder
from ragcorp.application.graph.delete import DeleteFromGraph
from ragcorp.application.graph.extract_facts import ExtractFacts
from ragcorp.application.graph.load import LoadGraph
from ragcorp.application.graph.read import ReadGraph
from ragcorp.application.graph.save import SaveDrafts
from ragcorp.application.hydration.introspect import IntrospectHydration
from ragcorp.application.memory.delete_items import DeleteItems
from ragcorp.application.memory.import_history import ImportHistory
from ragcorp.application.memory.list_items import ListItems
from ragcorp.application.memory.load_context import LoadContext
from ragcorp.application.memory.save_items import SaveItems
from ragcorp.application.structure.refresh import RefreshStructure
from ragcorp.application.workspaces.choose_language import ChooseLanguage
from ragcorp.domain.collections import Collection
from ragcorp.domain.graph import EntityDraft, FactDraft
from ragcorp.domain.ports.collections import FacetCounts
from ragcorp.domain.ports.use_cases import ChunkSearch, QuestionAnswering


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemUseCases:
    save: SaveItems
    items: ListItems
    delete: DeleteItems


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionUseCases:
    """Memory, history, and the parts of documents; whole documents are in ``UseCases``."""

    memory: ItemUseCases
    history: ItemUseCases
    import_history: ImportHistory
    chunks: ListChunks
    edit_chunk: EditChunk
    revise_document: ReviseDocument
    facets: FacetCounts

    def items_of(self, collection: Collection) -> ItemUseCases:
        return self.memory if collection is Collection.MEMORY else self.history


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphUseCases:
    save_entities: SaveDrafts[EntityDraft]
    save_facts: SaveDrafts[FactDraft]
    read: ReadGraph
    delete: DeleteFromGraph
    load: LoadGraph
    extract: ExtractFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    """Everything that ragcorp does. ``default_language`` is the language of documents that name none."""

    search: ChunkSearch
    answer: QuestionAnswering
    context: LoadContext
    introspect: IntrospectHydration
    grep: GrepFiles
    read_file: ReadFile
    ingest: IngestDocument
    ingest_folder: IngestFolder
    watch_folder: WatchFolder
    delete: DeleteDocument
    restore: RestoreDocument
    documents: ListDocuments
    collections: CollectionUseCases
    graph: GraphUseCases
    refresh_structure: RefreshStructure
    recognize: RecognizeText
    embed_pending: EmbedPending
    prune_embeddings: PruneEmbeddings
    language: ChooseLanguage
    default_language: str
