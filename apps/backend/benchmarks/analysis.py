"""CPU of the text analysis, of reading a query, and of finding the word that was meant.

    python -m benchmarks.analysis

Prose is the demonstration corpus cut into passages of 1,000 characters; the lexicon is a synthetic corpus's. CPU is the
backend's own, by the kernel's count (Linux).
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from benchmarks.corpus import Corpus
from benchmarks.loading import MODEL, copy_chunks, copy_documents
from benchmarks.measure import Report, machine, percentile
from benchmarks.server import Server, open_server
from benchmarks.sparse import cpu
from ragcorp.infrastructure.postgres.administration.migrations import migrate

PASSAGE = 1_000
PASSAGES = 400

ANALYSES = {
    "to_tsvector('spanish', content), as ADR-012": "to_tsvector('spanish', passage)",
    "folded_text": "folded_text(passage)",
    "folded_words": "folded_words('es', folded_text(passage))",
    "text_lexemes, Spanish": "text_lexemes('es', passage)",
    "text_lexemes, simple": "text_lexemes('xx', passage)",
}
CODES = "Ticket CAS-{0}: factura 0003-{0:08d} por $ {1}.{2}00, REQ-2024-{2}, /var/log/app{2}/import.log. "


def prose() -> list[str]:
    """Return passages of the demonstration corpus, over and over."""
    folder = files("ragcorp") / "demo_corpus" / "documents"
    texts = [
        path.read_text(encoding="utf-8")
        for kind in sorted(folder.iterdir(), key=lambda path: path.name)
        for path in sorted(kind.iterdir(), key=lambda path: path.name)
        if path.name.endswith((".md", ".txt"))
    ]
    text = re.sub(r"\n{2,}", "\n", "\n".join(texts))
    text *= 1 + PASSAGES * PASSAGE // len(text)
    return [text[at * PASSAGE : (at + 1) * PASSAGE] for at in range(PASSAGES)]


def codes(seed: int) -> list[str]:
    rng = random.Random(seed)
    sentences = [CODES.format(rng.randrange(10**5), rng.randrange(1, 999), rng.randrange(10, 99)) for _ in range(9)]
    return ["".join(sentences)[:PASSAGE]] * PASSAGES


def analysed(connection: Connection[TupleRow], passages: Sequence[str]) -> Iterator[dict[str, object]]:
    for name, expression in ANALYSES.items():
        statement = f"SELECT count({expression}) FROM unnest(%s::text[]) AS passage"
        spent = []
        for _ in range(7):
            before = cpu(connection)
            connection.execute(statement, (list(passages),))
            spent.append((cpu(connection) - before) / len(passages))
        yield {"analysis": name, "least cpu ms": round(min(spent), 3), "median": round(percentile(spent, 50), 3)}


def mistyped(word: str, rng: random.Random) -> str:
    at = rng.randrange(len(word) - 1)
    return rng.choice(
        (word[:at] + word[at + 1 :], word[:at] + word[at + 1] + word[at] + word[at + 2 :], f"{word[:at]}k{word[at:]}")
    )


def read_queries(connection: Connection[TupleRow], seed: int) -> Iterator[dict[str, object]]:
    """Queries of four words: as they stand in the corpus, with one mistake, with four."""
    rng = random.Random(seed)
    words = [row[0] for row in connection.execute("SELECT word FROM lexicon WHERE length(word) > 5 ORDER BY word")]
    for mistakes in (0, 1, 4):
        spent = []
        for _ in range(200):
            typed = rng.sample(words, 4)
            typed[:mistakes] = [mistyped(word, rng) for word in typed[:mistakes]]
            before = cpu(connection)
            connection.execute("SELECT * FROM query_terms('default', ARRAY['es'], %s)", (" ".join(typed),)).fetchall()
            spent.append(cpu(connection) - before)
        yield {
            "mistakes": mistakes,
            "p50 cpu ms": round(percentile(spent, 50), 2),
            "p95": round(percentile(spent, 95), 2),
        }


def run(arguments: argparse.Namespace, server: Server, report: Report) -> None:
    owner_dsn, dsn = server.database("ragcorp_analysis")
    migrate(owner_dsn, embedding_model=(MODEL.name, MODEL.dimensions), application_dsn=dsn)
    corpus = Corpus(chunks=arguments.chunks, seed=arguments.seed)
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        report.facts("machine", machine(owner_dsn))
        report.table("prose, 1,000 characters", list(analysed(connection, prose())))
        report.table("tickets full of codes, 1,000 characters", list(analysed(connection, codes(arguments.seed))))
        documents = list(corpus.documents())
        copy_documents(connection, documents)
        copy_chunks(connection, documents)
        before = cpu(connection)
        row = connection.execute("SELECT refresh_lexicon('default')").fetchone()
        spent = cpu(connection) - before
        connection.execute("SELECT bm25_refresh('default')")
        connection.execute("VACUUM ANALYZE")
        report.facts(
            "lexicon",
            {"words": row[0] if row else 0, "chunks": corpus.chunks, "cpu ms a chunk": round(spent / corpus.chunks, 3)},
        )
        report.table("reading a query", list(read_queries(connection, arguments.seed)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=5_000, help="whose words make the lexicon")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    report = Report(as_json=arguments.json)
    with open_server() as server:
        run(arguments, server, report)
    report.end()


if __name__ == "__main__":
    main()
