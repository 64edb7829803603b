"""Operations behind the commands, built by the composition root. No command knows settings, storage or a server."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ragcorp.application.embedding.drop_vectors import DropVectors
from ragcorp.application.embedding.reembed import Reembed
from ragcorp.application.embedding.switch_back import SwitchBack
from ragcorp.application.evaluation.answers import EvaluateAnswers
from ragcorp.application.evaluation.calibrate import CalibrateFusion
from ragcorp.application.evaluation.load_set import LoadEvaluationSet
from ragcorp.application.evaluation.retrieval import EvaluateRetrieval
from ragcorp.application.files.grep import GrepFiles
from ragcorp.application.files.read import ReadFile
from ragcorp.application.keys.create import CreateKey
from ragcorp.application.keys.list import ListKeys
from ragcorp.application.keys.revoke import RevokeKey
from ragcorp.application.upkeep.task_progress import Report
from ragcorp.application.workspaces.settle import SettleWorkspace
from ragcorp.domain.diagnosis import Check
from ragcorp.domain.ports.embeddings import ModelState
from ragcorp.domain.principal import Principal
from ragcorp.evaluation.answers import AskQuestion
from ragcorp.evaluation.report import RunReport
from ragcorp.evaluation.runs import Run
from ragcorp.evaluation.sets import EvaluationSet
from ragcorp.interface.use_cases import UseCases


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The ragcorp that a command works on. ``data_dir`` is None unless an argument names it."""

    data_dir: Path | None = None
    verbose: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The configuration for people: the database, the models, and hybrid search on or off."""

    storage: str
    hybrid: bool
    embedding: str
    answers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """An open ragcorp. ``makes_vectors`` is false without an embedding model."""

    use_cases: UseCases
    principal: Principal
    makes_vectors: bool
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Use cases of API keys. ``workspace`` is the default of a new key."""

    create: CreateKey
    list: ListKeys
    revoke: RevokeKey
    workspace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Address of the service and the number of its workers; None is the setting's."""

    host: str | None = None
    port: int | None = None
    workers: int | None = None


OnListening = Callable[[str], None]
"""Called with the URL once requests are answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningService:
    """A service: ``run`` returns once it is stopped, ``hurry`` ends open requests."""

    facts: Facts
    run: Callable[[OnListening], Awaitable[None]]
    hurry: Callable[[], None]
    access: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The packaged corpus over an open session; ``service`` is None with --no-serve."""

    session: Session
    documents: Path
    questions: Sequence[str]
    service: RunningService | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """``cache_dir`` stores embeddings (None: the user's cache folder). Passages over ``chunk_tokens`` are cut.

    ``language`` is the language of documents and queries; None takes the setting, for ``chunk_tokens`` too. ``tree``
    is a folder of files that are searched in place.
    """

    tree: Path | None = None
    cache_dir: Path | None = None
    language: str | None = None
    chunk_tokens: int | None = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A session in a throw-away workspace, with the use cases that fill and measure it."""

    session: Session
    load: LoadEvaluationSet
    settle: SettleWorkspace
    retrieve: EvaluateRetrieval
    calibrate: CalibrateFusion
    answers: EvaluateAnswers


Plot = Callable[[Path, str, Mapping[str, RunReport]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationFiles:
    """Reads and writes evaluation sets and runs. ``plotter`` raises MissingExtraError."""

    read_set: Callable[[Path], EvaluationSet]
    read_questions: Callable[[Path], Sequence[AskQuestion]]
    read_run: Callable[[Path, str | None], Run]
    save_runs: Callable[[Path, Sequence[Run], str], None]
    write_trec: Callable[[Path, Sequence[Run]], Sequence[Path]]
    require_writable: Callable[[Path], None]
    plotter: Callable[[], Plot]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTools:
    grep: GrepFiles
    read_file: ReadFile
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaState:
    """Schema revision of the database (None: empty), and the newest one of this version."""

    current: str | None
    head: str


class RowLevelSecurity(StrEnum):
    """Whether the database enforces the boundary of workspaces; OFF: only the statements' conditions do."""

    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """The result of a migration; ``left`` are statements that a superuser must still run for fast searches."""

    before: str | None
    after: SchemaState
    row_level_security: RowLevelSecurity
    left: Sequence[str]
    stop_older_processes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup's file and its manifest."""

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
    """``kept`` is a backup of the former content, if there was any."""

    backup: Backup
    revision: str | None
    kept: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """An embedding model by name. Without ``dimensions`` and ``provider`` those of the known models count."""

    name: str
    dimensions: int | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The embedding models of an open database; ``reembed`` is None unless one was chosen."""

    reembed: Reembed | None
    switch_back: SwitchBack
    drop: DropVectors
    states: Callable[[], Awaitable[Sequence[ModelState]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    name: str
    value: str | int | float | bool | None
    origin: str
    description: str


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
    backup: Callable[[Target, Path, bool, Report], Awaitable[Backup]]
    restore: Callable[[Target, Path, bool, Report], Awaitable[Restoration]]
    read_backup: Callable[[Path], Backup]
    models: Callable[[Target, ModelChoice | None], AbstractAsyncContextManager[Models]]
    settings: Callable[[Target], Sequence[SettingRow]]
    diagnose: Callable[[Target], Awaitable[Sequence[Check]]]
    evaluation: Callable[[Target, EvaluationOptions], AbstractAsyncContextManager[Evaluation]]
    evaluation_files: Callable[[], EvaluationFiles]
    files: Callable[[Target, Sequence[str]], FileTools]
    """Takes the folders to search in place of ALLOWED_PATHS, each ``[name=]dir``; empty: ALLOWED_PATHS."""
