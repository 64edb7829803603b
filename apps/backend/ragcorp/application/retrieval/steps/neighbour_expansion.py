"""Neighbour expansion: a chunk is shown with the chunks before and after it.

expanded(c, n) = chunks c-n .. c+n of its document, in their order, "[CHUNK BOUNDARY]" between them; those that do not
exist are left out, and nothing beyond a gap is joined. Text shared by adjoining chunks appears once, in the result's
own chunk or the one nearer to it.

A result is expanded independently of the others: two results may show the same neighbour. Otherwise the text of a
result would depend on the limit.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from uuid import UUID

from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.domain.search.candidates import StepReport

STEP = "neighbour_expansion"
FORMULA = "chunks i-n .. i+n of the same document, what they share once"

BOUNDARY = "\n[CHUNK BOUNDARY]\n"
MAX_DISTANCE = 5

_WORD_START = re.compile(r"(?<!\S)\S")
_LEADING_SPACE = re.compile(r"\s*\n|\s+")
"""Up to the last line end, so that the first line keeps its indentation."""


def expanded(chunk: Chunk, neighbours: Mapping[tuple[UUID, int], Chunk], *, distance: int) -> Chunk:
    r"""Return the chunk with the text of up to ``distance`` neighbours on each side; lines and pages span them all.

    ``neighbours`` are by (document id, chunk index). A passage of another collection stays as it is.
    Raises InvalidInputError for a distance out of range.

    >>> chunk = Chunk(
    ...     id='1', document_id=UUID(int=0), external_id='a', content='uno', title='', language='es', path=None,
    ...     line_start=1, line_end=1,
    ... )
    >>> following = replace(chunk, id='2', chunk_index=1, content='dos', line_start=2, line_end=2)
    >>> expanded(chunk, {(chunk.document_id, 1): following}, distance=1).content
    'uno\n[CHUNK BOUNDARY]\ndos'
    """
    if not 0 <= distance <= MAX_DISTANCE:
        raise InvalidInputError.out_of_range(
            "expand_neighbors", f"0 to {MAX_DISTANCE}", remedy="Read the document where more than that is needed."
        )
    if chunk.collection != CHUNK_COLLECTION:
        return chunk
    before = list(_side(chunk, neighbours, range(-1, -distance - 1, -1)))
    after = list(_side(chunk, neighbours, range(1, distance + 1)))
    if not before and not after:
        return chunk
    lead = [_before(neighbour, inner) for inner, neighbour in pairwise([chunk, *before])]
    rest = [_after(neighbour, inner) for inner, neighbour in pairwise([chunk, *after])]
    joined = (chunk, *before, *after)
    return replace(
        chunk,
        content=BOUNDARY.join(part for part in (*reversed(lead), chunk.content, *rest) if part),
        line_start=min(item.line_start for item in joined),
        line_end=max(item.line_end for item in joined),
        page_start=min((item.page_start for item in joined if item.page_start is not None), default=None),
        page_end=max((item.page_end for item in joined if item.page_end is not None), default=None),
        recognition_confidence=min(
            (item.recognition_confidence for item in joined if item.recognition_confidence is not None), default=None
        ),
    )


def report(results: int, *, distance: int) -> StepReport:
    """Return the step's report for a number of results.

    >>> report(3, distance=1).after
    3
    """
    return StepReport(step=STEP, before=results, after=results, formula=FORMULA, parameters={"distance": distance})


def _side(chunk: Chunk, neighbours: Mapping[tuple[UUID, int], Chunk], offsets: range) -> Iterator[Chunk]:
    """Yield the neighbours on one side, nearest first, up to the first that is missing."""
    for offset in offsets:
        neighbour = neighbours.get((chunk.document_id, chunk.chunk_index + offset))
        if neighbour is None:
            return
        yield neighbour


def _before(neighbour: Chunk, inner: Chunk) -> str:
    """Return the text of the chunk before ``inner`` that ``inner`` lacks."""
    return neighbour.content[: len(neighbour.content) - _shared(neighbour, inner)].rstrip()


def _after(neighbour: Chunk, inner: Chunk) -> str:
    """Return the text of the chunk after ``inner`` that ``inner`` lacks."""
    rest = neighbour.content[_shared(inner, neighbour) :]
    space = _LEADING_SPACE.match(rest)
    return rest[space.end() :] if space else rest


def _shared(earlier: Chunk, later: Chunk) -> int:
    """Return how many characters, in whole words, the end of one and the start of the other share, if lines overlap."""
    if later.line_start > earlier.line_end:
        return 0
    end, start = earlier.content, later.content
    for word in _WORD_START.finditer(end, max(0, len(end) - len(start))):
        size = len(end) - word.start()
        if start.startswith(end[word.start() :]) and _ends_word(start, size):
            return size
    return 0


def _ends_word(text: str, size: int) -> bool:
    return size == len(text) or text[size].isspace() or text[size - 1].isspace()
