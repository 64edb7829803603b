"""`ragcorp serve`, `ragcorp mcp` and `ragcorp tui`."""

import sys
from dataclasses import asdict
from typing import Annotated

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.options import option
from ragcorp.interface.cli.console.output import Output
from ragcorp.interface.cli.console.services import Facts, ServeOptions

Host = Annotated[str | None, option("--host", help="Address to listen on [HOST].")]
Port = Annotated[int | None, option("--port", help="Port to listen on; 0 takes a free one [PORT].")]

Workers = Annotated[int | None, option("--workers", help="Processes that answer requests [WORKERS].")]


async def serve(call: Call, host: Host = None, port: Port = None, workers: Workers = None) -> None:
    """Serve the REST interface, and make missing vectors in the background.

    Ctrl-C stops it: what is open may end first. A second Ctrl-C ends that at once.
    """
    options = ServeOptions(host=host, port=port, workers=workers)
    async with call.services.service(call.target, options) as service:
        call.second_signal.action = service.hurry
        await service.run(lambda url: announce(call.output, url, service.facts, service.access, json=call.output.json))
    call.output.note("Stopped.")


def announce(output: Output, url: str, facts: Facts, access: str, *, json: bool) -> None:
    """Write the URL and the configuration. The service goes on if stdout cannot be written."""
    if json:
        try:
            output.write_json({"url": url, **asdict(facts)})
        except OSError as error:
            output.leave_stdout()
            output.note(f"stdout cannot be written: {error.strerror or type(error).__name__}")
    hybrid = "on" if facts.hybrid else "off (ENABLE_HYBRID_SEARCH=true turns it on)"
    output.note(f"Listening on {url}", style="bold green")
    output.note(f"  the page:      {url}/")
    output.note(f"  the API:       {url}/docs")
    output.note(f"  database:      {facts.storage}")
    output.note(f"  hybrid search: {hybrid}")
    output.note(f"  embeddings:    {facts.embedding}")
    output.note(f"  answers:       {facts.answers}")
    output.note(f"  access:        {access}")
    output.note("Ctrl-C stops it.")


async def mcp(call: Call) -> None:
    """Serve the tools of the Model Context Protocol on stdin and stdout, for an assistant that starts this command.

    It needs ALLOWED_PATHS for files, and RAGCORP_DATA_DIR or DATABASE_URL for documents. It ends with its input.
    """
    if call.output.json:
        raise InvalidInputError(
            "The MCP server writes the protocol's own JSON.", field="--json", remedy="Leave the option out."
        )
    if sys.stdin.isatty():
        call.output.note("Waiting for messages of the protocol on stdin. Ctrl-C ends it.")
    await call.services.mcp(call.target)


async def tui(
    call: Call,
    profile: Annotated[
        str | None,
        option(
            "--profile",
            help="Profile at the start: files (where ALLOWED_PATHS is set), hybrid, grep, memory, ...; Ctrl+P changes "
            "it.",
        ),
    ] = None,
) -> None:
    """Search as you type, read files at their lines, and ask, on the whole terminal. F1 lists the keys."""
    if call.output.json:
        raise InvalidInputError(
            "The terminal UI writes no JSON.", field="--json", remedy="Use `ragcorp search --json` or `ragcorp ask`."
        )
    if not on_terminal():
        raise InvalidInputError(
            "The terminal UI needs a terminal for input and output.",
            field="tui",
            remedy="Run it in a terminal, or use `ragcorp search` and `ragcorp ask` in pipes.",
        )
    call.output.note("Opening ragcorp ...")
    await call.services.tui(call.target, profile)


def on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
