"""CPU, storage and upkeep of BM25 in PostgreSQL, against the words joined by OR and ranked by ts_rank_cd, in one run.

    python -m benchmarks.sparse --chunks 30000

CPU is the backend's own, by the kernel's count (Linux). Each query is answered by both, one right after the other and
each first in its turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from benchmarks.corpus import CHUNKS_PER_DOCUMENT, STOP_WORDS, Corpus
from benchmarks.loading import MODEL, copy_chunks, copy_documents
from benchmarks.measure import Report, backend_cpu_ms, machine, percentile
from benchmarks.server import Server, open_server
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.infrastructure.postgres.lexical import bm25
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

WINDOW = 100
BATCH = 1000
"""Chunks a transaction while loading, as an import would."""
WITHOUT_BM25 = 10_000
"""So many chunks are loaded without the triggers, too, for what these cost."""
VISIBLE = visibility(Principal())

WORDS_BY_OR = f"""
    SELECT c.id, ts_rank_cd(c.tsv, words.joined) AS score
    FROM (
        SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, '|')::tsquery AS joined
        FROM unnest(tsvector_to_array(to_tsvector('spanish', %(query)s))) AS lexeme) AS words, chunks c
    WHERE c.tsv @@ words.joined AND {VISIBLE.sql}
    ORDER BY score DESC, c.id LIMIT {WINDOW}
"""
LEXEMES = "SELECT tsvector_to_array(text_lexemes('es', %(query)s))"

STORAGE = """
    SELECT (SELECT sum(pg_column_size(tsv)) FROM chunks) AS tsv,
           pg_relation_size('ix_chunks_tsv') AS tsv_gin,
           (SELECT sum(pg_column_size(lexemes)) FROM chunks) AS lexemes,
           pg_table_size('bm25_chunks') AS bm25_chunks,
           pg_relation_size('ix_bm25_chunks_impacts') AS bm25_impacts_gin,
           pg_relation_size('pk_bm25_chunks') + pg_relation_size('ix_bm25_chunks_workspace_id') AS bm25_btrees,
           pg_total_relation_size('bm25_statistics') AS bm25_statistics
"""


def load(dsn: str, corpus: Corpus, *, chunks: int) -> float:
    """Load the first ``chunks`` in batches, as one session; return the backend's milliseconds of CPU a chunk."""
    with psycopg.connect(dsn) as connection:
        documents = islice(corpus.documents(), chunks // CHUNKS_PER_DOCUMENT)
        spent = 0.0
        while batch := list(islice(documents, BATCH // CHUNKS_PER_DOCUMENT)):
            copy_documents(connection, batch)
            connection.commit()
            spent -= backend_cpu_ms(connection)
            copy_chunks(connection, batch)
            connection.commit()
            spent += backend_cpu_ms(connection)
        return spent / chunks


def queries(corpus: Corpus, kind: str, count: int) -> list[str]:
    """Return questions of one kind; `mixed` has a word of a topic, two less common ones and a common one."""
    random = np.random.default_rng((corpus.seed, 9, len(kind)))
    words = corpus.vocabulary

    def some(low: int, high: int, count: int) -> list[str]:
        return [str(word) for word in words[random.integers(low, high, size=count)]]

    def topical(count: int) -> list[str]:
        topic = corpus.topic_words(int(random.choice(corpus.cluster_of)))
        return [str(word) for word in topic[random.integers(0, 20, size=count)]]

    kinds: Mapping[str, Callable[[], Sequence[str]]] = {
        "rare": lambda: some(5000, len(words), 3),
        "topical": lambda: [*topical(2), *some(20, 2000, 1)],
        "mixed": lambda: [*topical(1), *some(500, 5000, 2), *some(0, 50, 1)],
        "common": lambda: some(0, 50, 4),
        "question": lambda: [*topical(2), *some(200, 5000, 3), *some(0, 200, 3), *random.choice(STOP_WORDS, size=5)],
    }
    return [" ".join(kinds[kind]()) for _ in range(count)]


class Bm25:
    """Answers as the library does: by ``bm25_top`` until the result is proven."""

    def __init__(self, connection: Connection[TupleRow], **options: int) -> None:
        self._connection = connection
        self._statement = bm25.bm25_top(limit=WINDOW, visible=VISIBLE.sql, **options)
        self.rounds = 0
        self.scored: list[int] = []
        self.cut = 0

    def __call__(self, query: str) -> list[int]:
        row = self._connection.execute(LEXEMES, {"query": query}, prepare=True).fetchone()
        values = VISIBLE.values | {"lexemes": row[0] if row else [], "weights": None}
        theta: float | None = None
        scored = 0
        for attempt in range(4):
            with self._connection.transaction():
                self._connection.execute(bm25.SETTINGS, prepare=True)
                rows = self._connection.execute(self._statement, values | {"theta": theta}, prepare=True).fetchall()
            self.rounds += 1
            scored += rows[0][4]
            theta = bm25.next_theta(rows, attempt=attempt)
            if theta is None:
                break
        self.cut += bool(rows[0][3])
        self.scored.append(scored)
        return [row[0] for row in rows if row[0] is not None]


def compared(dsn: str, corpus: Corpus, *, kind: str, count: int) -> Iterator[dict[str, object]]:
    asked = queries(corpus, kind, count)
    with psycopg.connect(dsn, autocommit=True) as connection:
        ranked = Bm25(connection)

        def by_or(query: str) -> list[int]:
            values = VISIBLE.values | {"query": query}
            return [row[0] for row in connection.execute(WORDS_BY_OR, values, prepare=True).fetchall()]

        spent: dict[str, list[float]] = {"OR + ts_rank_cd": [], "BM25": []}
        variants: Mapping[str, Callable[[str], list[int]]] = {"OR + ts_rank_cd": by_or, "BM25": ranked}
        for query in asked[: min(10, count)]:
            by_or(query), ranked(query)
        ranked.rounds, ranked.cut, ranked.scored = 0, 0, []
        for number, query in enumerate(asked):
            for name in sorted(variants, reverse=number % 2 == 0):
                before = backend_cpu_ms(connection)
                variants[name](query)
                spent[name].append(backend_cpu_ms(connection) - before)
    base = sum(spent["OR + ts_rank_cd"])
    for name, times in spent.items():
        row: dict[str, object] = {
            "query": kind,
            "variant": name,
            "p50 cpu ms": round(percentile(times, 50), 2),
            "p95 cpu ms": round(percentile(times, 95), 2),
            "mean cpu ms": round(sum(times) / len(times), 2),
            "ratio of means": round(sum(times) / base, 3),
        }
        if name == "BM25":
            row |= {
                "rounds a query": round(ranked.rounds / count, 2),
                "chunks scored, p50": int(percentile(ranked.scored, 50)),
                "cut": ranked.cut,
            }
        yield row


def upkeep(dsn: str) -> dict[str, object]:
    """Refresh the statistics and flush the index."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        before = backend_cpu_ms(connection)
        connection.execute("SELECT bm25_flush()")
        flushed = backend_cpu_ms(connection)
        connection.execute("SELECT bm25_refresh('default')")
        refreshed = backend_cpu_ms(connection)
    return {"flush cpu ms": round(flushed - before, 1), "refresh cpu ms": round(refreshed - flushed, 1)}


def storage(dsn: str, *, chunks: int) -> list[dict[str, object]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(STORAGE)
        sizes = cursor.fetchone()
        names = [column.name for column in cursor.description or ()]
    return [
        {"part": name, "bytes a chunk": round(float(size) / chunks)}
        for name, size in zip(names, sizes or (), strict=True)
    ]


def prepare(server: Server, name: str, corpus: Corpus, *, chunks: int, with_bm25: bool) -> tuple[str, float]:
    owner_dsn, dsn = server.database(name)
    migrate(owner_dsn, embedding_model=(MODEL.name, MODEL.dimensions), application_dsn=dsn)
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        if connection.execute("SELECT EXISTS (SELECT FROM chunks)").fetchone() == (True,):
            return owner_dsn, 0.0
        connection.execute(f"ALTER TABLE chunks {'ENABLE' if with_bm25 else 'DISABLE'} TRIGGER bm25_insert")
    return owner_dsn, load(owner_dsn, corpus, chunks=chunks)


def run(arguments: argparse.Namespace, server: Server, report: Report) -> None:
    corpus = Corpus(chunks=arguments.chunks, seed=arguments.seed)
    plain, bare = min(WITHOUT_BM25, corpus.chunks), f"ragcorp_sparse_bare_{corpus.chunks}"
    server.drop(bare)
    _, without = prepare(server, bare, corpus, chunks=plain, with_bm25=False)
    server.drop(bare)
    dsn, spent = prepare(server, f"ragcorp_sparse_{corpus.chunks}", corpus, chunks=corpus.chunks, with_bm25=True)
    report.facts("machine", machine(dsn))
    facts = {"cpu ms a chunk": round(spent, 3), "the same without BM25": round(without, 3)}
    report.facts("loading", facts | upkeep(dsn))
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE chunks, bm25_chunks, bm25_statistics")
    report.table("storage", storage(dsn, chunks=corpus.chunks))
    kinds = ("rare", "topical", "mixed", "common", "question")
    rows = [row for kind in kinds for row in compared(dsn, corpus, kind=kind, count=arguments.queries)]
    report.table("CPU of the backend", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=60, help="different queries of each kind")
    parser.add_argument("--data-dir", type=Path, help="keep the embedded server's files there for the next run")
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    report = Report(as_json=arguments.json)
    with open_server(data_dir=arguments.data_dir) as server:
        run(arguments, server, report)
    report.end()


if __name__ == "__main__":
    main()
