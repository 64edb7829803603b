"""What the terminal UI is given by its composition: ports, and a few words to show."""

from __future__ import annotations

from dataclasses import dataclass

from ragcorp.domain.ports.file_search import FileReading
from ragcorp.domain.ports.use_cases import ChunkSearch, QuestionAnswering
from ragcorp.domain.principal import Principal

AUTO = "auto"
"""The choice of no profile: the search's own defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuiServices:
    """``profiles`` can be chosen, ``profile`` is the one at the start; ``limit`` is how many passages a search shows.

    ``words`` say what is in force, one fact each, for the page of help.
    """

    search: ChunkSearch
    answer: QuestionAnswering
    read: FileReading
    principal: Principal
    profiles: tuple[str, ...] = (AUTO,)
    profile: str = AUTO
    limit: int = 30
    words: tuple[str, ...] = ()
