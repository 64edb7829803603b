"""How files and passages of files are shown, by every interface alike."""

from __future__ import annotations

from ragcorp.domain.files.values import FileText, GrepPassage, GrepResult
from ragcorp.interface.search_status import grep_status


def grep_document(result: GrepResult, *, marks: bool = True) -> dict[str, object]:
    """Return the JSON object of a search in files, with the field names of the REST contract.

    Without ``marks`` the passages name their matched lines alone: marks may be longer than the text.
    """
    skipped = result.skipped
    return {
        "passages": [
            passage_document(passage, rank=rank, marks=marks) for rank, passage in enumerate(result.passages, 1)
        ],
        "terms": list(result.terms),
        "files": result.files,
        "matched_lines": result.matched_lines,
        "searched": result.searched,
        "skipped": {"binary": skipped.binary, "too_large": skipped.too_large, "refused": skipped.refused},
        "relaxed": result.relaxed,
        "cut": result.cut,
        "timed_out": result.timed_out,
        "unavailable": list(result.unavailable),
        "left_out": list(result.left_out),
        "status": grep_status(result).document(),
    }


def passage_document(passage: GrepPassage, *, rank: int, marks: bool = True) -> dict[str, object]:
    """Return a passage; ``term`` of a mark is the number of what stands there, from 0, in ``terms`` of the result."""
    chunk = passage.chunk
    listed = [{"line": mark.line, "start": mark.start, "end": mark.end, "term": mark.term} for mark in passage.marks]
    return {
        "path": passage.path,
        "line_start": passage.line_start,
        "line_end": passage.line_end,
        "text": passage.text,
        **({"marks": listed} if marks else {}),
        "matched_lines": sorted({mark.line for mark in passage.marks}),
        "terms": list(passage.terms),
        "score": passage.score,
        "rank": rank,
        "document_id": None if chunk is None else chunk.document_id,
        "chunk_id": None if chunk is None else chunk.chunk_id,
    }


def file_document(file: FileText) -> dict[str, object]:
    return {
        "path": file.path,
        "text": file.text,
        "line_start": file.line_start,
        "line_end": file.line_end,
        "total_lines": file.total_lines,
        "encoding": file.encoding,
    }
