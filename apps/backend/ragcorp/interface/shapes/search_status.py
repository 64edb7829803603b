"""How much a search found, in numbers and in words."""

from __future__ import annotations

from typing_extensions import TypedDict

from ragcorp.domain.files.values import GrepResult
from ragcorp.domain.search.requests import SearchResponse


class GrepStatus(TypedDict):
    """How much was found, in numbers and in words."""

    tool: str
    characters: int
    passages: int
    files: int
    message: str


def search_status(tool: str, response: SearchResponse) -> GrepStatus:
    """Return the status of a search: its passages are chunks, its files their distinct sources."""
    hits = response.hits
    characters = sum(len(hit.chunk.content) for hit in hits)
    message = f"{tool}: {_counted(len(hits), 'chunk')}, {_counted(characters, 'character')}"
    if response.degraded:
        message += f" (degraded: {', '.join(f'{report.source} {report.reason}' for report in response.degraded)})"
    return {
        "tool": tool,
        "characters": characters,
        "passages": len(hits),
        "files": len({hit.chunk.source_path or hit.chunk.external_id for hit in hits}),
        "message": message,
    }


def grep_status(result: GrepResult, *, tool: str = "grep_search") -> GrepStatus:
    """Return the status of a search in files; ``files`` counts all that match, also those without a passage here."""
    passages = len(result.passages)
    message = (
        f"{tool}: {_counted(passages, 'passage')} in {_counted(result.files, 'file')}, "
        f"{_counted(result.characters, 'character')}"
    )
    if result.timed_out:
        message += " (timeout: what was found until then)"
    elif result.cut:
        message += " (cut: too many matches)"
    if result.unavailable:
        message += f" (unavailable: {', '.join(result.unavailable)})"
    return {
        "tool": tool,
        "characters": result.characters,
        "passages": passages,
        "files": result.files,
        "message": message,
    }


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
