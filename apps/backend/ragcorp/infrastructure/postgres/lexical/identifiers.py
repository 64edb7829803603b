"""Identifiers of a query (codes, numbers, names of files), and the chunks that hold them."""

import math
import re
from collections.abc import Sequence

from psycopg.rows import TupleRow

from ragcorp.domain.retrieval import Hit, RankedList
from ragcorp.domain.search.lexical import QueryTerm, TermKind

CODE = re.compile(r"[\d@/:]")
"""Characters that make a compound a code; letters joined by a dash are words."""

FEW, FEW_SHARE = 20, 0.01
"""The number and share of chunks that may contain a code for it to be an identifier."""

OTHERWISE_WRITTEN = 0.5


def query_identifiers(terms: Sequence[QueryTerm], chunks: int) -> list[QueryTerm]:
    """Return the identifiers: codes that few chunks contain. A code of many chunks (a date, 24/7) identifies none.

    Of a code typed with spaces, the longest known run counts.
    """
    most = max(FEW, int(FEW_SHARE * chunks))
    codes = [
        term
        for term in terms
        if term.kind in (TermKind.WHOLE, TermKind.JOINED)
        and term.document_frequency <= most
        and CODE.search(term.lexeme)
    ]
    words = {code.word for code in codes}
    return [code for code in codes if not any(code.word != word and f" {code.word} " in f" {word} " for word in words)]


def rank_by_identifiers(rows: Sequence[TupleRow], codes: Sequence[QueryTerm], ranked: RankedList) -> tuple[Hit, ...]:
    """Rank chunks by their share of the query's identifiers, ties by the sparse ranking.

    An identifier in another spelling (12,34 and 1234) counts half if other chunks have it as typed.
    """
    code_of = {code.lexeme: code for code in codes}
    spellings: dict[str, dict[str, bool]] = {}
    for _, lexeme, chunk_id, *_ in rows:
        code = code_of[lexeme]
        words = spellings.setdefault(str(chunk_id), {})
        words[code.word] = words.get(code.word, False) or code.kind is TermKind.WHOLE
    as_typed = {word for words in spellings.values() for word, whole in words.items() if whole}
    total = len({code.word for code in codes})
    place = {hit.chunk_id: number for number, hit in enumerate(ranked.hits)}
    last = len(place)
    scores = {
        chunk_id: math.fsum(
            1.0 if whole or word not in as_typed else OTHERWISE_WRITTEN for word, whole in words.items()
        )
        / total
        for chunk_id, words in spellings.items()
    }
    ranking = sorted(scores.items(), key=lambda item: (-item[1], place.get(item[0], last), int(item[0])))
    return tuple(Hit(chunk_id=chunk_id, score=score) for chunk_id, score in ranking)
