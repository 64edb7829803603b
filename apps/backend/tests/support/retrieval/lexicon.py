"""Chunks with their lexicon, and the terms that a query has over them."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import Connection
from psycopg.rows import TupleRow

from support.retrieval.bm25 import insert_chunks

HOME = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    position: int
    word: str
    lexeme: str
    kind: str
    frequency: int
    typed: str | None
    similarity: float


def store(connection: Connection[TupleRow], *contents: str, workspace: str = HOME, language: str = "es") -> list[int]:
    ids = insert_chunks(connection, workspace, contents, language=language)
    refresh(connection, workspace)
    return ids


def refresh(connection: Connection[TupleRow], workspace: str = HOME, *, anew: bool = False) -> int:
    row = connection.execute("SELECT refresh_lexicon(%s, %s)", (workspace, anew)).fetchone()
    assert row is not None
    return int(row[0])


def terms(
    connection: Connection[TupleRow], text: str, *languages: str, workspace: str = HOME, kinds: str = "word"
) -> list[Term]:
    rows = connection.execute(
        "SELECT * FROM query_terms(%s, %s, %s)", (workspace, list(languages or ("es",)), text)
    ).fetchall()
    results = [
        Term(position=p, word=w, lexeme=x, kind=k, frequency=f, typed=t, similarity=s) for p, w, x, k, f, t, s in rows
    ]
    assert [(t.position, t.lexeme) for t in results] == sorted((t.position, t.lexeme) for t in results)
    return [term for term in results if kinds == "all" or term.kind in kinds.split()]
