"""Progress of long tasks."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Report = Callable[[int, int], None]
"""Receives the number of units that are done, and of all."""

Progress = Callable[[str, str], AbstractContextManager[Report]]
"""Opens the report on a task, by its title and the unit of its counts."""


def no_progress(task: str, unit: str) -> AbstractContextManager[Report]:
    """Open a report that is ignored."""
    del task, unit
    return nullcontext(lambda done, total: None)  # noqa: ARG005 - the report's shape
