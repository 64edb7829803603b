"""`ragcorp serve`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import Output
from ragcorp.interface.cli.console.services import Facts, ServeOptions

Host = Annotated[str | None, typer.Option("--host", help="Address to listen on [HOST].", show_default=False)]
Port = Annotated[
    int | None, typer.Option("--port", help="Port to listen on; 0 takes a free one [PORT].", show_default=False)
]


async def serve(call: Call, host: Host = None, port: Port = None) -> None:
    """Serve the REST interface, and make missing vectors in the background.

    Ctrl-C stops it: what is open may end first. A second Ctrl-C ends that at once.
    """
    async with call.services.service(call.target, ServeOptions(host=host, port=port)) as service:
        call.second_signal.action = service.hurry
        facts = service.session.facts
        await service.run(lambda url: announce(call.output, url, facts, service.access, json=call.output.json))
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
