"""What a passage says that is no document's: a turn, a memory, a fact of the graph."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcorp.domain.collections import GRAPH, QUESTION, Collection
from ragcorp.domain.documents import Chunk
from ragcorp.infrastructure.extractive.passages.facts import fact_of
from ragcorp.infrastructure.extractive.passages.statements import Statement, statements

_QUESTION = re.compile(r"[?\uff1f][\s\"'»”)\]]*$")


def stated(chunk: Chunk) -> Sequence[Statement]:
    """Return the statements of a passage. A question that somebody asked states nothing.

    A fact is one statement as it stands: its colon introduces no list.
    """
    if chunk.of_document:
        return statements(chunk.content)
    if chunk.collection == Collection.HISTORY and chunk.artifact_type == QUESTION:
        return []
    if chunk.collection == GRAPH:
        return [Statement(text=chunk.content, start=0, end=len(chunk.content), line=0, fact=fact_of(chunk))]
    return [statement for statement in statements(chunk.content) if not _QUESTION.search(statement.text)]


def subject(chunk: Chunk) -> str:
    """Return what a passage that is no document's is about: who speaks, and whom or what it is tagged with."""
    return " . ".join(part for part in (chunk.title, chunk.speaker, *chunk.entities) if part)
