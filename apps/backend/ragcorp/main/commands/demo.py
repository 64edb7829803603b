"""Opens the demo: the packaged corpus over the embedded PostgreSQL, with hybrid search on."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from socket import socket

import ragcorp
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.interface.cli.console.services import Demo, RunningService, ServeOptions, Target
from ragcorp.main.opening.sessions import open_prepared, session_of
from ragcorp.main.service.listener import listening_socket
from ragcorp.main.service.logs import service_logs
from ragcorp.main.service.serving import serve_container
from ragcorp.main.service.shutdown import Shutdown
from ragcorp.main.settings.addresses import access_over
from ragcorp.main.settings.for_commands import settings_for

logger = logging.getLogger(__name__)

CORPUS = Path(ragcorp.__file__).parent / "demo_corpus"


@asynccontextmanager
async def open_demo(target: Target, options: ServeOptions | None) -> AsyncIterator[Demo]:
    """Take the port unless --no-serve, then open the embedded database; DATABASE_URL is ignored."""
    served = {"host": options.host, "port": options.port} if options else {}
    settings = settings_for(target, enable_hybrid_search=True, **served)
    if settings.database_url is not None:
        logger.warning("the demo leaves DATABASE_URL alone and uses the embedded PostgreSQL")
        settings = settings.model_copy(update={"database_url": None, "database_owner_url": None})
    with ExitStack() as stack:
        listener: socket | None = None
        if options is not None:
            listener = stack.enter_context(listening_socket(settings.host, settings.port))
            stack.enter_context(service_logs(settings, target))
        ending = stack.enter_context(Shutdown(settings.shutdown_grace_seconds))
        async with open_prepared(settings) as container:
            session = session_of(container)
            service = None
            if listener is not None:
                service = RunningService(
                    facts=session.facts,
                    run=partial(serve_container, container, listener, shutdown=ending),
                    hurry=ending.hurry,
                    access=await access_over(listener, container.authenticator.any_exists),
                )
            yield Demo(session=session, documents=CORPUS / "documents", questions=_questions(), service=service)


def _questions() -> list[str]:
    try:
        entries = json.loads((CORPUS / "questions.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(
            "The demo corpus is missing from this installation.", remedy="Install ragcorp again."
        ) from None
    return [entry["question"] for entry in entries]
