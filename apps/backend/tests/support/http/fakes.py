"""Fake models, and the real use cases over them and the PostgreSQL repositories of the test's database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any
from uuid import UUID

from ragcorp.application.answering.answer import AnswerLimits, AnswerQuery
from ragcorp.application.answering.incomplete import IncompleteDocuments
from ragcorp.application.documents.delete import DeleteDocument
from ragcorp.application.documents.edit_chunk import EditChunk
from ragcorp.application.documents.ingest import IngestDocument
from ragcorp.application.documents.list import ListDocuments
from ragcorp.application.documents.list_chunks import ListChunks
from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.documents.restore import RestoreDocument
from ragcorp.application.documents.revise import ReviseDocument
from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.files.grep import GrepFiles
from ragcorp.application.files.read import ReadFile
from ragcorp.application.graph.delete import DeleteFromGraph
from ragcorp.application.graph.extract_facts import ExtractFacts
from ragcorp.application.graph.load import LoadGraph
from ragcorp.application.graph.read import ReadGraph
from ragcorp.application.graph.save import SaveDrafts
from ragcorp.application.hydration.introspect import IntrospectHydration
from ragcorp.application.memory.delete_items import DeleteItems
from ragcorp.application.memory.import_history import ImportHistory
from ragcorp.application.memory.list_items import ListItems
from ragcorp.application.memory.load_context import ContextLimits, LoadContext
from ragcorp.application.memory.save_items import SaveItems
from ragcorp.application.retrieval.profiles.standard import standard_profiles
from ragcorp.application.retrieval.sources.chunks import DenseChunkSource, FullTextChunkSource
from ragcorp.application.status.report import ReportStatus, ServiceFacts
from ragcorp.domain.answers import AnswerDelta, AnswerEvent, AnswerFinished, AnswerPrompt
from ragcorp.domain.collections import Collection, Item, ItemSelection
from ragcorp.domain.embeddings import BacklogCounts, EmbeddingModel, Vector
from ragcorp.domain.files.values import FileAccess
from ragcorp.domain.graph import EntityDraft, FactDraft
from ragcorp.domain.keys import LOCAL_CALLER, Caller
from ragcorp.domain.ports.storage import DocumentSelection, PendingChunk
from ragcorp.domain.principal import Principal
from ragcorp.domain.recognition import RecognitionCounts
from ragcorp.domain.search.requests import SearchMode, SearchRequest, SearchResponse
from ragcorp.domain.status import ContentCounts, Flag, PartStatus
from ragcorp.infrastructure.files.repository import NoFileDocuments
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.interface.http.call import HttpServices
from ragcorp.interface.http.monitoring.metrics import ServiceState
from ragcorp.interface.use_cases import CollectionUseCases, GraphUseCases, ItemUseCases
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.files import make_repository
from support.http.storage import Fault, Faulty, Storage
from support.memory.conversations import NO_PAGES
from support.models.embedders import HashingEmbedder
from support.parsing.reading import preparation_of
from support.retrieval.searches import search_over
from support.use_cases import USE_CASES, use_cases


class NothingCached:
    """An embedding cache that forgets."""

    async def get(self, keys: Sequence[bytes], *, model: EmbeddingModel, workspace: str) -> dict[bytes, Vector]:
        return {}

    async def put(self, vectors: Mapping[bytes, Vector], *, model: EmbeddingModel, workspace: str) -> None:
        return None


class EmptyBacklog:
    def __init__(self) -> None:
        self.fault = Fault()

    async def claim(
        self,
        *,
        limit: int,
        lease_seconds: float,
        document_id: UUID | None = None,
        workspace: str | None = None,
        model: EmbeddingModel | None = None,
    ) -> list[PendingChunk]:
        return []

    async def complete(self, vectors: Mapping[PendingChunk, Vector], *, model: EmbeddingModel) -> None: ...

    async def fail(
        self, chunks: Sequence[PendingChunk], *, reason: str, retry_in_seconds: float, max_attempts: int
    ) -> None: ...

    async def release(self, chunk_ids: Sequence[int]) -> None: ...

    async def enqueue_missing(self) -> int:
        return 0

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        await self.fault.strike()
        return BacklogCounts(pending=3, failed=1)


class ScriptedAnswerer:
    """Yields what it is told to: text, an error, or a number of seconds to wait. ``closed`` says that it was ended."""

    name = "scripted"

    def __init__(self) -> None:
        self.script: list[str | Exception | float] = ["El plazo es de 30 días [1]."]
        self.closed = asyncio.Event()
        self.prompts: list[AnswerPrompt] = []

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent, None]:
        self.prompts.append(prompt)
        try:
            for step in self.script:
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, float):
                    await asyncio.sleep(step)
                else:
                    yield AnswerDelta(text=step)
            yield AnswerFinished(abstained=False, usage={"completion_tokens": 7})
        finally:
            self.closed.set()

    async def aclose(self) -> None:
        return None


class CountedContents:
    """The port ContentCounter: the same for everybody."""

    def __init__(self) -> None:
        self.fault = Fault()
        self.waiting = BacklogCounts(pending=0, failed=0)

    async def count(self, *, principal: Principal) -> ContentCounts:
        await self.fault.strike()
        return ContentCounts(
            documents=4,
            deleted_documents=1,
            chunks=9,
            memories=3,
            turns=2,
            entities=6,
            facts=5,
            waiting={"artifact_chunks": self.waiting},
            recognition=RecognitionCounts(pages=3, done=2, failed=0),
        )


class Spanish:
    def detect(self, text: str) -> str:
        return "es"


class OnlyLocal:
    """Authenticator without keys: every caller is the local user."""

    async def caller(self, credential: str | None) -> Caller:
        return LOCAL_CALLER


@dataclass
class World:
    """The use cases over fake models and a database, and what they run over."""

    storage: Storage
    answerer: ScriptedAnswerer = field(default_factory=ScriptedAnswerer)
    backlog: EmptyBacklog = field(default_factory=EmptyBacklog)
    readiness: Fault = field(default_factory=Fault)
    contents: CountedContents = field(default_factory=CountedContents)
    circuits: dict[str, str] = field(default_factory=lambda: {"dense": "closed", "full_text": "closed"})
    failed_calls: dict[str, str] = field(default_factory=dict)
    troubles: tuple[PartStatus, ...] = ()
    off: tuple[PartStatus, ...] = ()
    woken: int = 0

    def __post_init__(self) -> None:
        self.repository = Faulty(self.storage, "documents")
        self.memory = Faulty(self.storage, "memory")
        self.history = Faulty(self.storage, "history")
        self.graph = Faulty(self.storage, "graph")

    async def document_names(self) -> list[str]:
        documents = (await self.storage.ports()).documents
        page = await documents.list_page(DocumentSelection(), principal=Principal(), limit=500)
        return [document.external_id for document in page.items]

    async def turns(self) -> list[Item]:
        page = await (await self.storage.ports()).history.list_page(ItemSelection(), principal=Principal(), limit=500)
        return list(page.items)

    def services(self, **changes: Any) -> HttpServices:
        embedder = HashingEmbedder()
        preparation = preparation_of(chunker=StructureChunker(max_tokens=64, overlap_tokens=0))
        repository: Any = self.repository
        search = search_over(
            {
                "dense": DenseChunkSource(embedder=embedder, repository=repository, scoring=repository),
                "full_text": FullTextChunkSource(repository=repository, scoring=repository),
            },
            store=repository,
            profiles=standard_profiles(),
            default_mode=SearchMode.DENSE,
            source_seconds=2.0,
        )
        episodes: Any = Faulty(self.storage, "episodes")
        unread: Any = Faulty(self.storage, "unread")
        files = make_repository(load_settings({"allowed_paths": ""}))
        documents, access = NoFileDocuments(), FileAccess()
        ingest = IngestDocument(store=repository, preparation=preparation, embed_pending=None, embed_wait_seconds=0.0)
        bundle = use_cases(
            search=search,
            answer=AnswerQuery(
                search=search,
                answerer=self.answerer,
                languages=Spanish(),
                pages=NO_PAGES,
                incomplete=IncompleteDocuments(unread=unread),
                limits=AnswerLimits(timeout_seconds=30.0),
            ),
            context=LoadContext(search=search, limits=ContextLimits()),
            introspect=IntrospectHydration(episodes=episodes),
            ingest=ingest,
            graph=self._graph(),
            grep=GrepFiles(files=files, documents=documents, access=access, timeout_seconds=2.0),
            read_file=ReadFile(files=files, documents=documents, access=access),
            delete=DeleteDocument(store=repository),
            restore=RestoreDocument(store=repository, preparation=preparation),
            documents=ListDocuments(store=repository),
            collections=self._collections(preparation, ingest),
            embed_pending=EmbedPending(embedder=embedder, backlogs=[self.backlog], cache=NothingCached()),
        )
        services = HttpServices(
            version=version("ragcorp"),
            use_cases=replace(bundle, **{name: changes.pop(name) for name in USE_CASES & changes.keys()}),
            status=self._status(),
            readiness=self.readiness.strike,
            pool_statistics=lambda: {"pool_size": 4},
            wake_embedding=self._wake,
            observe_rollout=lambda _: None,
            observe_embedding_cache=lambda _: None,
            authenticator=OnlyLocal(),
            state=ServiceState(),
        )
        return replace(services, **changes)

    def _collections(self, preparation: DocumentPreparation, ingest: IngestDocument) -> CollectionUseCases:
        repository: Any = self.repository
        catalogue: Any = Faulty(self.storage, "catalogue", fault=self.repository.fault)
        facets: Any = Faulty(self.storage, "facets", fault=self.memory.fault)
        revise = ReviseDocument(store=repository, preparation=preparation, ingest=ingest)
        history = _items(Collection.HISTORY, self.history)
        return CollectionUseCases(
            memory=_items(Collection.MEMORY, self.memory),
            history=history,
            import_history=ImportHistory(save=history.save),
            chunks=ListChunks(repository=repository, catalogue=catalogue),
            edit_chunk=EditChunk(repository=repository, store=repository, catalogue=catalogue, revision=revise),
            revise_document=revise,
            facets=facets,
        )

    def _graph(self) -> GraphUseCases:
        repository: Any = self.graph
        extractions: Any = Faulty(self.storage, "extractions", fault=self.graph.fault)
        entities = SaveDrafts[EntityDraft](save=repository.save_entities)
        facts = SaveDrafts[FactDraft](save=repository.save_facts)
        return GraphUseCases(
            save_entities=entities,
            save_facts=facts,
            read=ReadGraph(repository=repository),
            delete=DeleteFromGraph(repository=repository),
            load=LoadGraph(entities=entities, facts=facts, default_language="es"),
            extract=ExtractFacts(extractor=None, store=extractions),
        )

    def _status(self) -> ReportStatus:
        async def look() -> tuple[PartStatus, ...]:
            await self.readiness.strike()
            return self.troubles

        flag = Flag(name="RRF_K", value="60", is_default=True, says="Rank constant.")
        return ReportStatus(
            facts=ServiceFacts(
                version="1.2.3", model="test-embedder", off=self.off, models=("rerank", "answerer"), flags=(flag,)
            ),
            circuits=lambda: self.circuits,
            failed_calls=lambda: self.failed_calls,
            look=look,
            counter=self.contents,
            seconds=0.3,
        )

    def _wake(self) -> None:
        self.woken += 1


def _items(collection: Collection, repository: Any) -> ItemUseCases:
    return ItemUseCases(
        save=SaveItems(collection=collection, repository=repository),
        items=ListItems(repository=repository),
        delete=DeleteItems(collection=collection, repository=repository),
    )


class HeldSearch:
    """A search that waits until it is let go, and then finds nothing or fails."""

    def __init__(self, response: SearchResponse) -> None:
        self.response = response
        self.error: Exception | None = None
        self.let_go = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def search(self, request: SearchRequest, *, principal: Principal) -> SearchResponse:
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if self.error is not None:
            raise self.error
        return self.response
