"""The command `ragcorp`: its commands, and the mapping of errors to exit codes."""

import asyncio
import traceback
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer
from typer import Option

from ragcorp.domain.exceptions import RagcorpError
from ragcorp.interface.cli.administration.backup import backup
from ragcorp.interface.cli.administration.backup import restore as restore_backup
from ragcorp.interface.cli.administration.embeddings import ABOUT, EMBEDDING_COMMANDS
from ragcorp.interface.cli.administration.installation import config, doctor, migrate
from ragcorp.interface.cli.administration.keys import KEY_COMMANDS
from ragcorp.interface.cli.administration.language import language
from ragcorp.interface.cli.administration.reembed import reembed
from ragcorp.interface.cli.collections.commands import GROUPS as COLLECTION_GROUPS
from ragcorp.interface.cli.collections.commands import collections
from ragcorp.interface.cli.console.calls import CommandFunction, CommonOptions, DataDir, Json, Verbose, add_commands
from ragcorp.interface.cli.console.output import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    Output,
    error_document,
    exit_code,
)
from ragcorp.interface.cli.console.services import Services
from ragcorp.interface.cli.documents.commands import content, delete, list_documents, purge, restore, show
from ragcorp.interface.cli.documents.ingest import embed, ingest, refresh
from ragcorp.interface.cli.evaluation.command import evaluate
from ragcorp.interface.cli.graph.commands import GRAPH_COMMANDS
from ragcorp.interface.cli.search.commands import ask, search
from ragcorp.interface.cli.search.files import grep, read
from ragcorp.interface.cli.search.recall import context, introspect
from ragcorp.interface.cli.servers.commands import mcp, serve, tui
from ragcorp.interface.cli.servers.demo import demo

HELP = """Search and cited answers over your documents, in one PostgreSQL.

Without DATABASE_URL an embedded PostgreSQL is started in the data folder, and stopped by the last command that uses it.
Start with `ragcorp demo`, or with `ragcorp ingest FOLDER` and `ragcorp ask QUESTION`.

Exit codes: 0 done, 1 failed or problems found, 2 wrong input (also a file that there is not) or settings, 3 database or
model provider out of reach, 130 interrupted.
"""

COMMANDS: dict[str, CommandFunction] = {
    "serve": serve,
    "mcp": mcp,
    "tui": tui,
    "demo": demo,
    "ingest": ingest,
    "search": search,
    "ask": ask,
    "grep": grep,
    "read": read,
    "context": context,
    "introspect": introspect,
    "collections": collections,
    "embed": embed,
    "language": language,
    "eval": evaluate,
    "reembed": reembed,
    "migrate": migrate,
    "backup": backup,
    "restore": restore_backup,
    "config": config,
    "doctor": doctor,
}
GROUPS: dict[str, tuple[str, dict[str, CommandFunction]]] = {
    "documents": (
        "List, show, delete and restore documents.",
        {
            "list": list_documents,
            "show": show,
            "content": content,
            "delete": delete,
            "restore": restore,
            "purge": purge,
        },
    ),
    **COLLECTION_GROUPS,
    "entities": ("The entities that documents are made of.", {"refresh": refresh}),
    "embeddings": (ABOUT, EMBEDDING_COMMANDS),
    "graph": ("Entities, and facts between them.", GRAPH_COMMANDS),
    "keys": ("Make, list and revoke the keys of the service.", KEY_COMMANDS),
}


def build_app(services: Services, output: Output) -> typer.Typer:
    app = typer.Typer(
        name="ragcorp",
        help=HELP,
        add_completion=False,
        rich_markup_mode=None if output.json else "rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )

    @app.callback(invoke_without_command=True)
    def common(
        context: typer.Context,
        *,
        data_dir: DataDir = None,
        json: Json = False,
        verbose: Verbose = False,
        version: Annotated[bool, Option("--version", help="Show the version.")] = False,
    ) -> None:
        context.obj = CommonOptions(data_dir=data_dir, json=json, verbose=verbose).target()
        if version:
            output.line({"version": services.version}, f"ragcorp {services.version}")
            raise typer.Exit
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())
            raise typer.Exit

    add_commands(app, COMMANDS, services=services, output=output)
    for name, (about, commands) in GROUPS.items():
        group = typer.Typer(name=name, help=about, no_args_is_help=True)
        add_commands(group, commands, services=services, output=output)
        app.add_typer(group)
    return app


def run_command_line(
    services: Services, arguments: Sequence[str], *, stdout: TextIOWrapper, stderr: TextIOWrapper
) -> int:
    """Run one command and return its exit code. Raises nothing."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    output = Output(json="--json" in options, stdout=stdout, stderr=stderr)
    try:
        code = build_app(services, output)(args=list(arguments), prog_name="ragcorp", standalone_mode=False)
        stdout.flush()
    except RagcorpError as error:
        output.error(error_document(error))
        return exit_code(error)
    except typer.TyperException as error:
        remedy = "`ragcorp --help` and `ragcorp COMMAND --help` show the usage."
        output.error(_error("usage", error.format_message(), remedy))
        return EXIT_USAGE
    except (asyncio.CancelledError, KeyboardInterrupt, typer.Abort):
        output.error(_error("interrupted", "Interrupted."))
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        output.leave_stdout()  # the reader of a pipe has gone
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - the last resort of a command line: one line, not a traceback
        if {"--verbose", "-v"} & set(options):
            traceback.print_exception(error, file=stderr)
        remedy = "Run it again with --verbose to see where, and report it."
        output.error(_error("internal", f"Something unexpected went wrong ({type(error).__name__}).", remedy))
        return EXIT_FAILED
    return code if isinstance(code, int) else EXIT_OK


def _error(code: str, message: str, remedy: str | None = None) -> dict[str, object]:
    return {"code": code, "message": message, "field": None, "limit": None, "remedy": remedy}
