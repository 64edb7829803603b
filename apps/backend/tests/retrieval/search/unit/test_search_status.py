"""What a search tool says when it is done: characters, and chunks or files."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from ragcorp.domain.documents import Chunk
from ragcorp.domain.files.values import GrepPassage, GrepResult
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.domain.search.requests import SearchHit, SearchMode, SearchResponse
from ragcorp.interface.shapes.result_text import grep_status, search_status


def hit(rank: int, text: str, path: str) -> SearchHit:
    chunk = Chunk(
        id=str(rank),
        document_id=UUID(int=rank),
        external_id=path,
        chunk_index=0,
        content=text,
        heading_path=(),
        title="",
        language="es",
        path=path,
        metadata={},
        line_start=1,
        line_end=1,
        page_start=None,
        page_end=None,
    )
    return SearchHit(rank=rank, score=1.0, score_type="rrf", chunk=chunk, sources=())


def response(*hits: SearchHit, reason: str | None = None) -> SearchResponse:
    outcome = SourceOutcome.OK if reason is None else SourceOutcome.TIMEOUT
    report = SourceReport(source="grep", outcome=outcome, elapsed_ms=1.0, reason=reason)
    return SearchResponse(mode_used=SearchMode.HYBRID, hits=hits, reports=(report,))


def test_a_search_counts_characters_and_chunks() -> None:
    result = response(hit(1, "ñandú", "a.md"), hit(2, "plazo", "a.md"), hit(3, "x", "b.md"))
    status = search_status("hybrid_search", result)
    assert status == {
        "tool": "hybrid_search",
        "characters": 11,
        "passages": 3,
        "files": 2,
        "message": "hybrid_search: 3 chunks, 11 characters",
    }


def test_nothing_and_one() -> None:
    assert search_status("vector_search", response())["message"] == "vector_search: 0 chunks, 0 characters"
    assert (
        search_status("vector_search", response(hit(1, "a", "a")))["message"] == "vector_search: 1 chunk, 1 character"
    )


def test_what_is_degraded_is_said() -> None:
    said = search_status("hybrid_search", response(reason="timeout"))["message"]
    assert said == "hybrid_search: 0 chunks, 0 characters (degraded: grep timeout)"


def test_grep_counts_the_unique_files() -> None:
    passage = GrepPassage(
        path="docs/a.md", line_start=1, line_end=2, text="uno\ndos", marks=(), terms=("uno",), score=1.5
    )
    found = GrepResult(passages=(passage, passage), terms=("uno",), files=7, matched_lines=9, searched=100)
    status = grep_status(found)
    assert (status["passages"], status["files"], status["characters"]) == (2, 7, 14)
    assert status["message"] == "grep_search: 2 passages in 7 files, 14 characters"
    assert grep_status(replace(found, timed_out=True))["message"].endswith(" (timeout: what was found until then)")
    assert grep_status(replace(found, cut=True))["message"].endswith(" (cut: too many matches)")
    assert grep_status(replace(found, unavailable=("docs",)))["message"].endswith(" (unavailable: docs)")
