"""The object that `ragcorp.open()` gives: the use cases with plain arguments."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from ragcorp.application.folders.ingest import FolderReport
from ragcorp.application.memory.load_context import DEFAULT_QUERY
from ragcorp.domain.answers import Answer, AskEvent, final_answer
from ragcorp.domain.collections import Collection, Facets
from ragcorp.domain.documents import Document, DocumentAttributes, SourceFile
from ragcorp.domain.embeddings import BacklogCounts
from ragcorp.domain.files.values import DEFAULT_PASSAGES, FileText, GrepResult
from ragcorp.domain.ingestion import IngestRequest, IngestResult
from ragcorp.domain.memory import MemoryContext
from ragcorp.domain.ports.folders import OnProgress
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.domain.recognition import RecognitionCounts
from ragcorp.domain.search.requests import AskOptions, SearchOptions, SearchResponse
from ragcorp.domain.structure.hydration import RecordedTurn
from ragcorp.interface.library.collections import Artifacts, Chunks, History, Items
from ragcorp.interface.library.graph import Graph
from ragcorp.interface.library.requests import grep_request, search_request
from ragcorp.interface.request_values import parse_selection, text_file
from ragcorp.interface.use_cases import UseCases


class Rag:
    """Search, ask and ingest in one workspace. Every method raises errors of ``ragcorp.RagcorpError`` only.

    >>> with ragcorp.open() as rag:
    ...     status = rag.ingest_text('contrato.md', 'El plazo de entrega es de 30 días hábiles.').status
    ...     text = rag.ask('¿Cuál es el plazo de entrega?').text
    >>> status, text
    (<IngestStatus.CREATED: 'created'>, '«El plazo de entrega es de 30 días hábiles.» [1]')
    """

    def __init__(self, use_cases: UseCases, *, principal: Principal) -> None:
        self._use_cases = use_cases
        self._principal = principal

    def as_principal(self, principal: Principal) -> Rag:
        """Return the same object for another caller."""
        return Rag(self._use_cases, principal=principal)

    @property
    def memory(self) -> Items:
        """Facts, preferences, people, places and relationships."""
        return Items(self._use_cases, principal=self._principal, collection=Collection.MEMORY)

    @property
    def history(self) -> History:
        """Turns of conversations."""
        return History(self._use_cases, principal=self._principal, collection=Collection.HISTORY)

    @property
    def graph(self) -> Graph:
        """Entities, and facts between them."""
        return Graph(self._use_cases, principal=self._principal)

    @property
    def artifacts(self) -> Artifacts:
        """Documents, to be changed in part; whole ones are ingested, listed and deleted here."""
        return Artifacts(self._use_cases, principal=self._principal)

    @property
    def chunks(self) -> Chunks:
        """The passages of documents."""
        return Chunks(self._use_cases, principal=self._principal)

    async def facets(self, *, filters: Mapping[str, object] | None = None) -> Facets:
        """Count what there is to find, by collection, artifact_type, language and month."""
        return await self._use_cases.collections.facets.count(
            principal=self._principal, filters=parse_selection(filters)
        )

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> SearchResponse:
        """Return the best passages. ``SearchRequest`` describes the options.

        >>> with ragcorp.open(data_dir="./datos") as rag:  # doctest: +SKIP
        ...     rag.search("plazo de entrega", mode="hybrid", filters={"language": "es"}).hits
        """
        return await self._use_cases.search.search(search_request(query, options), principal=self._principal)

    async def hybrid_search(
        self,
        semantic_query: str,
        exact_keywords: str | None = None,
        *,
        limit: int = 10,
        filters: Mapping[str, object] | None = None,
        include_memory: bool = False,
        expand_neighbors: bool | int = False,
        vector_score_threshold: float | None = None,
    ) -> SearchResponse:
        """Return the best passages of documents and files, by meaning and by exact keywords, fused by rank (k = 60).

        Without ``exact_keywords`` the significant words of ``semantic_query`` are used.
        """
        return await self.search(
            semantic_query,
            profile="files",
            exact_keywords=exact_keywords,
            limit=limit,
            filters=filters,
            include_memory=include_memory,
            expand_neighbors=expand_neighbors,
            vector_score_threshold=vector_score_threshold,
        )

    async def grep(
        self,
        query: str,
        *,
        mode: str = "literal",
        globs: Sequence[str] = (),
        case: str = "smart",
        max: int = DEFAULT_PASSAGES,  # noqa: A002 - as the tools call it
        gitignore: bool = True,
    ) -> GrepResult:
        """Search the files of ALLOWED_PATHS, ``mode`` literal or regex, and return the passages around what was found.

        ``case`` is smart, sensitive or insensitive; ``globs`` are patterns of gitignore, with ``!`` to leave out.
        Raises FileAccessError where no root is allowed to the caller.
        """
        request = grep_request(query, mode=mode, globs=globs, case=case, max_passages=max, gitignore=gitignore)
        return await self._use_cases.grep.grep(request, principal=self._principal)

    async def read_file(self, path: str, line_start: int | None = None, line_end: int | None = None) -> FileText:
        """Return a file of ALLOWED_PATHS, or lines of it. Raises FileAccessError: its text says why not."""
        return await self._use_cases.read_file.read(
            path, principal=self._principal, line_start=line_start, line_end=line_end
        )

    async def ask(self, query: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer from the best ``limit`` passages, with citations, or abstain.

        With a ``conversation_id`` a follow-up question is rewritten (``rewritten_query`` of the answer), and question
        and answer are stored as turns of that session of history, private to the caller. With an ``episode_id`` the
        answer also uses the entities of that turn.
        """
        return await final_answer(self.ask_stream(query, **options))

    def ask_stream(self, query: str, **options: Unpack[AskOptions]) -> AsyncGenerator[AskEvent]:
        """Yield the search, the answer's text as it is written, and last the checked ``Answer``."""
        return self._use_cases.answer.stream(search_request(query, options), principal=self._principal)

    async def introspect(self, episode_id: str, *, turn: int | None = None) -> RecordedTurn:
        """Return what a turn of an episode showed, and why; by default the latest. Raises NotFoundError."""
        return await self._use_cases.introspect.introspect(episode_id, principal=self._principal, turn=turn)

    async def context(
        self, query: str = DEFAULT_QUERY, *, limit: int | None = None, session: str | None = None
    ) -> MemoryContext:
        """Return a briefing for a prompt (``context``) and its items; ``session`` recalls from one session only."""
        return await self._use_cases.context.load(query, limit=limit, session=session, principal=self._principal)

    async def ingest_text(
        self,
        external_id: str,
        text: str,
        *,
        title: str = "",
        metadata: Mapping[str, object] | None = None,
        attributes: DocumentAttributes | None = None,
        media_type: str = "",
    ) -> IngestResult:
        """Store text under ``external_id``: Markdown unless that ends in .txt or .html, or ``media_type`` says so."""
        file = text_file(external_id, text, media_type=media_type)
        return await self.ingest_bytes(
            external_id,
            file.content,
            filename=file.filename,
            media_type=file.media_type,
            title=title,
            metadata=metadata,
            attributes=attributes,
        )

    async def ingest_bytes(
        self,
        external_id: str,
        content: bytes,
        *,
        filename: str,
        media_type: str = "",
        title: str = "",
        metadata: Mapping[str, object] | None = None,
        attributes: DocumentAttributes | None = None,
    ) -> IngestResult:
        """Store a file (Markdown, text, HTML, PDF, Word, ...); its kind is told by the name, else the media type."""
        base = attributes or DocumentAttributes(language=self._use_cases.default_language)
        described = replace(base, title=title or base.title, metadata=base.metadata if metadata is None else metadata)
        file = SourceFile(content=content, media_type=media_type, filename=filename)
        return await self._use_cases.ingest.ingest(
            IngestRequest(external_id=external_id, file=file, attributes=described), principal=self._principal
        )

    async def ingest_folder(
        self, path: str | Path, *, prefix: str = "", on_progress: OnProgress | None = None
    ) -> FolderReport:
        """Store every document below ``path`` (or the one file), passing over what is stored already."""
        return await self._use_cases.ingest_folder.ingest(
            Path(path), principal=self._principal, prefix=prefix, on_progress=on_progress
        )

    async def documents(
        self,
        *,
        prefix: str = "",
        filters: Mapping[str, object] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        deleted: bool = False,
    ) -> tuple[tuple[Document, ...], str | None]:
        """Return a page of documents in the order of external_id, and the cursor of the next page."""
        selection = DocumentSelection(prefix=prefix, filters=parse_selection(filters), deleted=deleted)
        return await self._use_cases.documents.list(selection, principal=self._principal, limit=limit, cursor=cursor)

    async def document(self, external_id: str) -> Document:
        return await self._use_cases.documents.get(external_id, principal=self._principal)

    async def source(self, external_id: str) -> SourceFile:
        """Return the original as it was ingested."""
        return await self._use_cases.documents.get_source(external_id, principal=self._principal)

    async def delete(self, external_id: str) -> None:
        """Hide a document at once; ``restore`` brings it back."""
        await self._use_cases.delete.delete(external_id, principal=self._principal)

    async def delete_selection(self, *, prefix: str = "", filters: Mapping[str, object] | None = None) -> int:
        """Hide all documents that the prefix and the filters select; return how many."""
        return await self._use_cases.delete.delete_selection(
            DocumentSelection(prefix=prefix, filters=parse_selection(filters)), principal=self._principal
        )

    async def restore(self, external_id: str) -> IngestResult:
        return await self._use_cases.restore.restore(external_id, principal=self._principal)

    async def purge(self, *, older_than_days: float) -> int:
        """Remove for good what was deleted at least so long ago; return how many."""
        return await self._use_cases.delete.purge(older_than_days=older_than_days, principal=self._principal)

    async def set_language(self, language: str | None) -> tuple[str, ...]:
        """Choose the language in which queries are read first (None: DEFAULT_LANGUAGE); return all they are read in."""
        return await self._use_cases.language.choose(language, principal=self._principal)

    async def pending(self) -> BacklogCounts:
        """Return how many passages and items of the workspace still wait for a vector, whoever may read them."""
        return await self._use_cases.embed_pending.counts(workspace=self._principal.workspace)

    async def embed_pending(self, *, on_progress: Callable[[int, int], None] | None = None) -> BacklogCounts:
        """Make the missing vectors, those that failed before included, until none is due; return what is left."""
        await self._use_cases.embed_pending.enqueue_missing()
        total = (await self.pending()).pending
        done = 0
        while not (progress := await self._use_cases.embed_pending.embed()).idle:
            done += progress.embedded
            if on_progress:
                on_progress(done, max(total, done))
        return await self.pending()

    async def recognize_pending(self, *, on_progress: Callable[[int, int], None] | None = None) -> RecognitionCounts:
        """Read the scanned pages that wait (OCR), those that failed before included; return the workspace's counts."""
        recognize, workspace = self._use_cases.recognize, self._principal.workspace
        await recognize.retry_failed(workspace=workspace)
        while await recognize.recognize(workspace=workspace):
            if on_progress:
                counts = await recognize.counts(workspace=workspace)
                on_progress(counts.done + counts.failed, counts.pages)
        return await recognize.counts(workspace=workspace)
