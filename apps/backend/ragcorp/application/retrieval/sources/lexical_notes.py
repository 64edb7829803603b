"""Notes on a query's terms for explanations, without revealing unreadable documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragcorp.domain.ports.storage import LexicalChunks, VisibleFrequencies
from ragcorp.domain.search.lexical import QueryTerm, TermKind


def lexical_notes(matches: LexicalChunks, visible: VisibleFrequencies) -> dict[str, object]:
    """Return the notes of full text: counts are of what the caller may read.

    A term that no such chunk holds is shown as it was typed, once, with no idf: as what is unknown, whether or not
    others know it. ``idf`` and ``average_length`` are those of the scores, over the whole workspace: None where some of
    it is hidden from the caller.
    """
    words: dict[str, list[QueryTerm]] = {}
    for term in matches.terms:
        words.setdefault(term.word, []).append(term)
    return {
        "chunks": matches.chunks if visible.everything else visible.chunks,
        "average_length": matches.average_length if visible.everything else None,
        "counted_up_to": None if visible.everything else visible.counted_up_to,
        "terms": [note for terms in words.values() for note in _notes(terms, visible)],
    }


def _notes(terms: Sequence[QueryTerm], visible: VisibleFrequencies) -> Iterator[Mapping[str, object]]:
    held = [term for term in terms if visible.frequencies.get(term.lexeme)]
    for term in held:
        count = term.document_frequency if visible.everything else visible.frequencies[term.lexeme]
        yield {
            "word": term.word,
            "lexeme": term.lexeme,
            "kind": term.kind.value,
            "document_frequency": count,
            "idf": term.idf if visible.everything else None,
            "typed": term.typed,
            "similarity": term.similarity,
        }
    a_word = any(term.kind is TermKind.WORD for term in terms)
    word = terms[0].word
    # neighbours that were tried as one code are no term of their own
    if all(term.kind is TermKind.PART for term in held) and (a_word or " " not in word):
        yield {
            "word": word,
            "lexeme": word,
            "kind": (TermKind.WORD if a_word else TermKind.WHOLE).value,
            "document_frequency": 0,
            "idf": None,
            "typed": None,
            "similarity": 1.0,
        }
