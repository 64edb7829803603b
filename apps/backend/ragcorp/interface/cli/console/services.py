"""Dependencies of the command line: commands know neither settings nor storage nor a web server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ragcorp.application.documents.delete import DeleteDocument
from ragcorp.application.documents.ingest import IngestDocument
from ragcorp.application.documents.list import ListDocuments
from ragcorp.application.documents.restore import RestoreDocument
from ragcorp.application.embedding.drop_vectors import DropVectors
from ragcorp.application.embedding.embed_pending import EmbedPending
from ragcorp.application.embedding.prune import PruneEmbeddings
from ragcorp.application.embedding.reembed import Reembed
from ragcorp.application.embedding.switch_back import SwitchBack
from ragcorp.application.evaluation.answers import EvaluateAnswers
from ragcorp.application.evaluation.calibrate import CalibrateFusion
from ragcorp.application.evaluation.load_set import LoadEvaluationSet
from ragcorp.application.evaluation.retrieval import EvaluateRetrieval
from ragcorp.application.folders.distinct_names import RequireDistinctNames
from ragcorp.application.folders.ingest import IngestFolder
from ragcorp.application.folders.watch import WatchFolder
from ragcorp.application.hydration.introspect import IntrospectHydration
from ragcorp.application.keys.create import CreateKey
from ragcorp.application.keys.list import ListKeys
from ragcorp.application.keys.revoke import RevokeKey
from ragcorp.application.memory.load_context import LoadContext
from ragcorp.application.structure.refresh import RefreshStructure
from ragcorp.application.workspaces.choose_language import ChooseLanguage
from ragcorp.application.workspaces.settle import SettleWorkspace
from ragcorp.domain.ports.embeddings import ModelState
from ragcorp.domain.ports.file_search import FileGrep, FileReading
from ragcorp.domain.ports.use_cases import ChunkSearch, QuestionAnswering
from ragcorp.domain.principal import Principal
from ragcorp.evaluation.answers import AskQuestion
from ragcorp.evaluation.report import RunReport
from ragcorp.evaluation.runs import Run
from ragcorp.evaluation.sets import EvaluationSet
from ragcorp.interface.collection_use_cases import CollectionUseCases
from ragcorp.interface.graph_use_cases import GraphUseCases


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which ragcorp a command works on. ``data_dir`` is the argument, if one was given."""

    data_dir: Path | None = None
    verbose: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is in force, for people: the database as ``storage``, the models, and hybrid search on or off."""

    storage: str
    hybrid: bool
    embedding: str
    answers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """An open ragcorp. ``makes_vectors`` is false where no embedding model is configured."""

    search: ChunkSearch
    answer: QuestionAnswering
    context: LoadContext
    introspect: IntrospectHydration
    ingest: IngestDocument
    ingest_folder: IngestFolder
    distinct_names: RequireDistinctNames
    watch_folder: WatchFolder
    refresh_structure: RefreshStructure
    delete: DeleteDocument
    restore: RestoreDocument
    documents: ListDocuments
    collections: CollectionUseCases
    graph: GraphUseCases
    embed_pending: EmbedPending
    prune_embeddings: PruneEmbeddings
    language: ChooseLanguage
    principal: Principal
    default_language: str
    makes_vectors: bool
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The keys of an open database. ``workspace`` is that of a key for which none is named."""

    create: CreateKey
    list: ListKeys
    revoke: RevokeKey
    workspace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of the service; None: the setting applies."""

    host: str | None = None
    port: int | None = None


OnListening = Callable[[str], None]
"""Told the URL as soon as requests are answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningService:
    """An open session with a service ready to start on it; ``run`` returns when the service was stopped.

    ``hurry`` ends open requests at once; ``access`` describes who may call the service.
    """

    session: Session
    run: Callable[[OnListening], Awaitable[None]]
    hurry: Callable[[], None]
    access: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The packaged corpus over an open session; ``run`` is None where nothing is to be served."""

    session: Session
    documents: Path
    questions: Sequence[str]
    run: Callable[[OnListening], Awaitable[None]] | None
    hurry: Callable[[], None]
    access: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """``cache_dir`` keeps embeddings (None: the user's cache folder). Longer passages than ``chunk_tokens`` are cut.

    ``language`` is that of documents and queries; it and ``chunk_tokens`` are None for the setting's. ``tree`` is a
    folder whose files are searched where they lie.
    """

    tree: Path | None = None
    cache_dir: Path | None = None
    language: str | None = None
    chunk_tokens: int | None = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A session whose principal has a throw-away workspace, with what fills and measures it."""

    session: Session
    load: LoadEvaluationSet
    settle: SettleWorkspace
    retrieve: EvaluateRetrieval
    calibrate: CalibrateFusion
    answers: EvaluateAnswers


Plot = Callable[[Path, str, Mapping[str, RunReport]], None]
"""Draws the reports of runs, by name, under a title, into a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationFiles:
    """Evaluation sets and runs in files. ``plotter`` raises MissingExtraError where nothing can draw."""

    read_set: Callable[[Path], EvaluationSet]
    read_questions: Callable[[Path], Sequence[AskQuestion]]
    read_run: Callable[[Path, str | None], Run]
    save_runs: Callable[[Path, Sequence[Run], str], None]
    write_trec: Callable[[Path, Sequence[Run]], Sequence[Path]]
    require_writable: Callable[[Path], None]
    plotter: Callable[[], Plot]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """``paths`` are roots, each ``[name=]dir``, in place of ALLOWED_PATHS; none: those."""

    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTools:
    """Searches and reads files without a database: those of the user's own machine are the user's."""

    grep: FileGrep
    read_file: FileReading
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaState:
    """Schema revisions: the database's (None: empty) and the newest that this version carries."""

    current: str | None
    head: str


class RowLevelSecurity(StrEnum):
    """Whether the database itself keeps workspaces apart; OFF: conditions of the statements alone do."""

    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """``left`` are statements that a superuser has yet to run, so that searches use their indexes.

    ``stop_older_processes``: those of a version of before see no rows from now on.
    """

    before: SchemaState
    after: SchemaState
    row_level_security: RowLevelSecurity
    left: Sequence[str]
    stop_older_processes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup's file, and what it says of itself."""

    file: Path
    bytes: int
    version: str
    created_at: str
    postgresql: str
    revision: str
    embedding_model: str | None
    rows: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """``kept`` is the backup of what was there before, where something was."""

    backup: Backup
    revision: str | None
    kept: Path | None


OnBytes = Callable[[int, int], None]
"""Told how many bytes of how many are done; the total of a backup that is being made is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """An embedding model by name. Without them, its width is the known one, and its provider the one that has it."""

    name: str
    dimensions: int | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The embedding models of an open database; ``reembed`` is None where none was chosen."""

    reembed: Reembed | None
    switch_back: SwitchBack
    drop: DropVectors
    states: Callable[[], Awaitable[Sequence[ModelState]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """A setting as it may be shown: secrets are masked already."""

    name: str
    value: str | int | float | bool | None
    origin: str
    description: str


class CheckStatus(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding of the doctor, with what can be done about it."""

    name: str
    status: CheckStatus
    detail: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The operations behind the commands. Each raises RagcorpError only."""

    version: str
    new_event_loop: Callable[[], asyncio.AbstractEventLoop]
    open: Callable[[Target], AbstractAsyncContextManager[Session]]
    service: Callable[[Target, ServeOptions], AbstractAsyncContextManager[RunningService]]
    demo: Callable[[Target, ServeOptions | None], AbstractAsyncContextManager[Demo]]
    mcp: Callable[[Target], Awaitable[None]]
    tui: Callable[[Target, str | None], Awaitable[None]]
    keys: Callable[[Target], AbstractAsyncContextManager[Keys]]
    migrate: Callable[[Target, RowLevelSecurity | None], Awaitable[Migration]]
    schema: Callable[[Target], Awaitable[SchemaState]]
    backup: Callable[[Target, Path, bool, OnBytes], Awaitable[Backup]]
    restore: Callable[[Target, Path, bool, OnBytes], Awaitable[Restoration]]
    read_backup: Callable[[Path], Backup]
    models: Callable[[Target, ModelChoice | None], AbstractAsyncContextManager[Models]]
    settings: Callable[[Target], Sequence[SettingRow]]
    diagnose: Callable[[Target], Awaitable[Sequence[Check]]]
    evaluation: Callable[[Target, EvaluationOptions], AbstractAsyncContextManager[Evaluation]]
    evaluation_files: Callable[[], EvaluationFiles]
    files: Callable[[Target, FileOptions], AbstractAsyncContextManager[FileTools]]
