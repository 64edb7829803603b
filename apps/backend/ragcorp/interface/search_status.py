"""What a search tool says of a search when it is done: how much was found, for every interface alike."""

from __future__ import annotations

from dataclasses import dataclass

from ragcorp.domain.files.values import GrepResult
from ragcorp.domain.search.requests import SearchHit, SearchResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStatus:
    """``characters`` of all passages, and how many ``passages`` there are: chunks, or parts of ``files`` files."""

    tool: str
    characters: int
    passages: int
    files: int
    message: str

    def document(self) -> dict[str, object]:
        return {
            "tool": self.tool,
            "characters": self.characters,
            "passages": self.passages,
            "files": self.files,
            "message": self.message,
        }


def search_status(tool: str, response: SearchResponse) -> SearchStatus:
    """Return the status of a search; its passages are called chunks, its files are the distinct sources of them."""
    hits = response.hits
    characters = sum(len(hit.chunk.content) for hit in hits)
    message = f"{tool}: {_counted(len(hits), 'chunk')}, {_counted(characters, 'character')}"
    if response.degraded:
        message += f" (degraded: {', '.join(f'{report.source} {report.reason}' for report in response.degraded)})"
    return SearchStatus(
        tool=tool, characters=characters, passages=len(hits), files=len({_file(hit) for hit in hits}), message=message
    )


def grep_status(result: GrepResult, *, tool: str = "grep_search") -> SearchStatus:
    """Return the status of a search in files; the files are all that matched, also behind the shown passages."""
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
    return SearchStatus(tool=tool, characters=result.characters, passages=passages, files=result.files, message=message)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _file(hit: SearchHit) -> str:
    return hit.chunk.source_path or hit.chunk.external_id
