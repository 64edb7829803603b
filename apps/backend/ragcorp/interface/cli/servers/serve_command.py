"""`ragcorp serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import Output, plain
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
        call.second_signal.does(service.hurry)
        facts = service.session.facts
        await service.run(lambda url: announce(call.output, url, facts, service.access, json=call.output.json))
    call.output.note("Stopped.")


def announce(output: Output, url: str, facts: Facts, access: str, *, json: bool) -> None:
    """Print where the service listens and its settings. A closed output does not stop the service."""
    if json:
        try:
            output.write_json({"url": url, **facts_document(facts)})
        except OSError as error:
            output.leave_stdout()
            output.note(f"stdout cannot be written: {error.strerror or type(error).__name__}")
    output.notes.print(plain(f"Listening on {url}", style="bold green"))
    output.notes.print(plain(f"  the page:      {url}/"))
    output.notes.print(plain(f"  the API:       {url}/docs"))
    output.notes.print(plain(f"  database:      {facts.storage}"))
    output.notes.print(
        plain(f"  hybrid search: {'on' if facts.hybrid else 'off (ENABLE_HYBRID_SEARCH=true turns it on)'}")
    )
    output.notes.print(plain(f"  embeddings:    {facts.embedding}"))
    output.notes.print(plain(f"  answers:       {facts.answers}"))
    output.notes.print(plain(f"  access:        {access}"))
    output.notes.print(plain("Ctrl-C stops it."))


def facts_document(facts: Facts) -> dict[str, object]:
    return {
        "storage": facts.storage,
        "hybrid": facts.hybrid,
        "embedding": facts.embedding,
        "answers": facts.answers,
    }
