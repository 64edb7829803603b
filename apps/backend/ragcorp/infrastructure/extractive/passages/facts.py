"""A fact of the graph as a sentence: "Marta -> Acme: lleva el contrato de" reads "Marta lleva el contrato de Acme"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragcorp.domain.collections import GRAPH
from ragcorp.domain.documents import Chunk
from ragcorp.domain.text.folding import folded_in_place

_ENDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """``subject`` and ``object`` are names of entities, ``predicate`` what stands between them in a sentence."""

    subject: str
    predicate: str
    object: str

    def told_to(self, asked: str) -> tuple[str, ...]:
        """Return the names that the folded question lacks; none if it asks for the fact the other way round.

        Of "Ana is boss of Luis", Luis is no answer to "who is boss of Ana?".
        """
        if self._turned(asked):
            return ()
        return tuple(name for name in (self.subject, self.object) if not _stands(name, asked))

    def says_so(self, asked: str) -> bool:
        """Say whether the folded question names both, in the order of the sentence: "is Ana the boss of Luis?"."""
        subject, other = (_place(name, asked) for name in (self.subject, self.object))
        return subject is not None and other is not None and subject < other and not self._turned(asked)

    def _turned(self, asked: str) -> bool:
        predicate = r"\s+".join(map(re.escape, folded_in_place(self.predicate).split()))
        after = rf"{predicate}\s+(?:(?:el|la|los|las|the|o|a)\s+)?{_pattern(self.subject)}"
        return re.search(rf"(?<!\w){after}", asked) is not None and folded_in_place(self.subject) != folded_in_place(
            self.object
        )


def fact_of(chunk: Chunk) -> Fact | None:
    """Return the fact that a passage of the graph is; None where its names do not stand in it as they should."""
    if chunk.collection != GRAPH or len(chunk.entities) != _ENDS:
        return None
    subject, other = chunk.entities
    head = f"{subject} -> {other}: "
    if not chunk.content.startswith(head):
        return None
    return Fact(subject=subject, predicate=chunk.content.removeprefix(head), object=other)


def _pattern(name: str) -> str:
    return rf"{re.escape(folded_in_place(name))}(?!\w)"


def _place(name: str, asked: str) -> int | None:
    found = re.search(rf"(?<!\w){_pattern(name)}", asked)
    return found.start() if found else None


def _stands(name: str, asked: str) -> bool:
    return _place(name, asked) is not None
