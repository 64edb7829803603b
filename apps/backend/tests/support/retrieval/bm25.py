"""BM25 over a test database: chunks by SQL, searches by the statement, and the formula once more, in Python."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from psycopg import Connection
from psycopg.rows import TupleRow

from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.lexical import bm25
from ragcorp.infrastructure.postgres.visibility.predicates import filtered, matching_documents, visibility

PLAIN = "xx"
"""A language that no stemmer knows: its words are its lexemes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``proven`` of the hits, from the first on, cannot be outranked by any chunk that is missing."""

    hits: list[tuple[int, float]]
    proven: int
    cut: bool
    scored: int
    rounds: int

    @property
    def ids(self) -> list[int]:
        return [chunk_id for chunk_id, _ in self.hits]


def insert_chunks(
    connection: Connection[TupleRow],
    workspace: str,
    contents: Sequence[str],
    *,
    language: str = PLAIN,
    sensitivity: Sensitivity = Sensitivity.NORMAL,
    artifact_type: str = "document",
) -> list[int]:
    """Insert one document with a chunk a content and return the chunks' ids."""
    document_id = uuid4()
    shared = (language, artifact_type, int(sensitivity))
    connection.execute(
        """
        INSERT INTO documents (id, workspace, external_id, text, content_hash, chunker, chunk_count, media_type,
                               filename, size_bytes, language, artifact_type, sensitivity)
        VALUES (%s, %s, %s, '', '', 'test', %s, 'text/plain', '', 0, %s, %s, %s)
        """,
        (document_id, workspace, str(document_id), len(contents), *shared),
    )
    columns = "document_id, workspace, chunk_index, content, language, artifact_type, sensitivity"
    rest = "line_start, line_end, token_count, content_hash"
    connection.execute(
        f"INSERT INTO chunks ({columns}, {rest})"
        " SELECT %s, %s, n - 1, content, %s, %s, %s, 1, 1, 1, ''"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS given (content, n)",
        (document_id, workspace, *shared, list(contents)),
    )
    rows = connection.execute("SELECT id FROM chunks WHERE document_id = %s ORDER BY chunk_index", (document_id,))
    return [row[0] for row in rows]


def search(
    connection: Connection[TupleRow],
    lexemes: Sequence[str],
    *,
    principal: Principal | None = None,
    filters: Filters = (),
    limit: int = 20,
    weights: Sequence[float] | None = None,
    **options: int,
) -> Found:
    """Ask as often as ``next_theta`` wants."""
    principal = principal or Principal()
    visible, narrowed = visibility(principal), filtered(filters)
    statement = bm25.bm25_top(
        limit=limit,
        visible=visible.sql,
        filtered=narrowed.sql if filters else None,
        matching=matching_documents(principal, filters) if filters else None,
        **options,
    )
    values = visible.values | narrowed.values | {"lexemes": list(lexemes), "weights": weights}
    certified = min(limit, options.get("certified", bm25.CERTIFIED))
    theta: float | None = None
    for attempt in range(5):
        with connection.transaction():
            connection.execute(bm25.SETTINGS)
            rows = connection.execute(statement, values | {"theta": theta}).fetchall()
        theta = bm25.next_theta(rows, certified=certified, attempt=attempt)
        if theta is None:
            break
    else:
        raise AssertionError("the search does not end")
    hits = [row for row in rows if row[0] is not None]
    return Found(
        hits=[(row[0], row[1]) for row in hits],
        proven=next((n for n, row in enumerate(hits) if not row[2]), len(hits)),
        cut=rows[0][3],
        scored=rows[0][4],
        rounds=attempt + 1,
    )


def stored_counts(connection: Connection[TupleRow], workspace: str) -> dict[int, dict[str, int]]:
    """Return tf by lexeme of each chunk, as its tsvector has them."""
    counts: dict[int, dict[str, int]] = {}
    for chunk_id, lexeme, tf in connection.execute(
        """
        SELECT c.id, entry.lexeme, coalesce(cardinality(entry.positions), 1)
        FROM chunks c LEFT JOIN unnest(c.lexemes) AS entry ON true WHERE c.workspace = %s
        """,
        (workspace,),
    ):
        counts.setdefault(chunk_id, {})
        if lexeme is not None:
            counts[chunk_id][lexeme] = tf
    return counts


def frequencies(connection: Connection[TupleRow], workspace: str, lexemes: Sequence[str]) -> dict[str, int]:
    row = connection.execute("SELECT lexeme_frequencies(%s, %s)", (workspace, list(lexemes))).fetchone()
    assert row is not None
    return dict(zip(lexemes, row[0], strict=True))


def reference(
    counts: Mapping[int, Mapping[str, int]], lexemes: Sequence[str], *, df: Mapping[str, int] | None = None
) -> list[tuple[int, float]]:
    """Return every chunk that holds a lexeme, best first: the formula of bm25.py; ``df`` is counted unless given."""
    if df is None:
        df = {lexeme: sum(lexeme in held for held in counts.values()) for lexeme in lexemes}
    average = sum(sum(held.values()) for held in counts.values()) / len(counts) if counts else 1.0
    scores = {}
    for chunk_id, held in counts.items():
        damping = 1.2 * (0.25 + 0.75 * sum(held.values()) / average) if held else 0.0
        gains = [
            math.log(1 + (max(len(counts), df[lexeme]) - df[lexeme] + 0.5) / (df[lexeme] + 0.5))
            * (held[lexeme] * 2.2 / (held[lexeme] + damping))
            for lexeme in dict.fromkeys(lexemes)
            if lexeme in held
        ]
        if gains:
            scores[chunk_id] = math.fsum(gains)
    return sorted(scores.items(), key=lambda scored: (-round(scored[1], 9), scored[0]))


def assert_in_step(connection: Connection[TupleRow]) -> None:
    """The index rows are those of the chunks, and the totals those of the rows."""
    differing = connection.execute(
        """
        SELECT b.chunk_id, derived.id
        FROM bm25_chunks b
        FULL JOIN (
            SELECT c.id, w.id AS workspace_id, t.length, t.terms
            FROM chunks c LEFT JOIN bm25_workspaces w USING (workspace)
            LEFT JOIN LATERAL bm25_terms(w.id, c.lexemes) AS t ON true) AS derived ON derived.id = b.chunk_id
        WHERE (b.workspace_id, b.length, b.terms) IS DISTINCT FROM (derived.workspace_id, derived.length, derived.terms)
        """
    ).fetchall()
    assert differing == []
    totals = connection.execute(
        "SELECT w.workspace, t.chunks, t.total_length FROM bm25_workspaces w, bm25_totals(w.workspace) AS t"
    ).fetchall()
    for workspace, chunks, total_length in totals:
        counts = stored_counts(connection, workspace)
        assert (chunks, total_length) == (len(counts), sum(sum(held.values()) for held in counts.values())), workspace
    assert_documents_in_step(connection)


def assert_documents_in_step(connection: Connection[TupleRow]) -> None:
    """The terms of each document are those of its chunks, counted anew; what has no chunks has no terms."""
    derived: dict[UUID, tuple[int, dict[int, int]]] = {}
    for document_id, length, terms in connection.execute(
        """
        SELECT c.document_id, t.length, t.terms
        FROM chunks c JOIN bm25_workspaces w USING (workspace), bm25_terms(w.id, c.lexemes) AS t
        """
    ):
        total, frequencies = derived.get(document_id, (0, {}))
        for posting in terms:
            frequencies[posting & -16] = frequencies.get(posting & -16, 0) + (posting & 15)
        derived[document_id] = (total + length, frequencies)
    stored = {
        document_id: (length, terms)
        for document_id, length, terms in connection.execute("SELECT document_id, length, terms FROM document_terms")
    }
    assert stored == {
        document_id: (length, sorted(key | min(15, tf) for key, tf in frequencies.items()))
        for document_id, (length, frequencies) in derived.items()
    }


def content_of(number: int) -> str:
    """A nonsense word of letters alone, that no analysis takes apart."""
    digest = hashlib.sha256(str(number).encode()).digest()
    return "".join("bcdfglmnprstvz"[byte % 14] + "aeiou"[byte % 5] for byte in digest[:4])
