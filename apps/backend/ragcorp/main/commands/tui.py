"""`ragcorp tui`: the terminal UI over an open container."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ragcorp.application.retrieval.profiles.standard import standard_profiles
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.interface.cli.console.services import Target
from ragcorp.interface.tui.app import RagTui
from ragcorp.interface.tui.services import AUTO, TuiServices
from ragcorp.main.opening.facts import facts_of
from ragcorp.main.opening.sessions import open_prepared
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.wiring.container import Container

PROFILES = (AUTO, *standard_profiles())

MOST_PASSAGES = 30

MOST_DEFERRED = 200


async def run_tui(target: Target, profile: str | None) -> None:
    """Run until the user quits; ``profile`` defaults to ``files`` if folders are allowed. Raises InvalidInputError."""
    if profile is not None and profile not in PROFILES:
        raise InvalidInputError(
            "There is no such profile.", field="--profile", limit=", ".join(PROFILES), remedy="Name one of them."
        )
    async with open_prepared(settings_for(target)) as container:
        services = tui_services(container, profile)
        app = RagTui(services, colour=has_colour(os.environ))
        with deferred_logs():
            await app.run_async()
    if app.failure is not None:
        raise app.failure
    task = asyncio.current_task()
    if task is not None and task.cancelling():  # textual treats a cancellation as a normal end
        raise asyncio.CancelledError


def tui_services(container: Container, profile: str | None = None) -> TuiServices:
    settings = container.settings
    facts = facts_of(settings)
    return TuiServices(
        use_cases=container.use_cases,
        principal=settings.local_caller.principal,
        profiles=PROFILES,
        profile=profile or ("files" if container.file_roots else AUTO),
        limit=min(MOST_PASSAGES, settings.max_limit),
        facts=(
            f"embeddings: {facts.embedding}",
            f"answers: {facts.answers}",
            f"hybrid search: {'on' if facts.hybrid else 'off'}",
            f"files in: {', '.join(container.file_roots) or 'none, ALLOWED_PATHS is not set'}",
        ),
    )


def has_colour(environment: Mapping[str, str]) -> bool:
    """Return whether to use colour: not with NO_COLOR (no-color.org), nor on a dumb terminal."""
    return not environment.get("NO_COLOR") and environment.get("TERM", "dumb") not in ("dumb", "unknown")


@contextmanager
def deferred_logs() -> Iterator[None]:
    """Defer log lines while the UI runs, and write the last of them afterwards."""
    root = logging.getLogger()
    recent, handlers = _RecentRecords(), list(root.handlers)
    root.handlers[:] = [recent]
    try:
        yield
    finally:
        root.handlers[:] = handlers
        for record in recent.records:
            root.handle(record)


class _RecentRecords(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: deque[logging.LogRecord] = deque(maxlen=MOST_DEFERRED)

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
