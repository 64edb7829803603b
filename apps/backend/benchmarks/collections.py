"""Search over all collections: chunks, artifacts, memory, history and graph, with the steps after fusion.

    python -m benchmarks.collections --chunks 100000 --turns 20000 --facts 5000

The base is the profile's own sources asked side by side and nothing else: what the database needs. Vectors are made
from a seed. Also counted: statements and round trips of one search.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import psycopg
from pgvector.psycopg import register_vector
from psycopg import Connection
from psycopg.rows import TupleRow

from benchmarks.corpus import Corpus, Query
from benchmarks.library import open_container_over
from benchmarks.loading import load
from benchmarks.measure import Report, Variant, interleaved, machine
from benchmarks.server import open_server
from benchmarks.wire import Trace, traced
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.domain.ports.sources import RetrievalSource, SourceQuery
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.sources import GRAPH_FACTS
from ragcorp.infrastructure.postgres.dense.search import VectorScan
from ragcorp.infrastructure.postgres.documents.repository import PostgresDocumentRepository
from ragcorp.infrastructure.postgres.documents.scoring import PostgresChunkScoring
from ragcorp.infrastructure.postgres.models.registry import active_model
from ragcorp.interface.library.rag import Rag
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.container import Container
from ragcorp.main.wiring.graph import graph_source
from ragcorp.main.wiring.retrieval import chunk_sources, collection_sources, profiles_of

PROFILES = ("hybrid", "collections", "memory", "everything")
SPEAKERS = ("Marta", "Luis", "Priya", "Rajesh", "Ana")
NOW = datetime.now(UTC)

ITEMS = """
    COPY {table} (workspace, external_id, text, artifact_type, occurred_at, session, speaker, content_hash)
    FROM STDIN WITH (FORMAT binary)
"""
ITEM_TYPES = ("text", "text", "text", "text", "timestamptz", "text", "text", "bytea")

DOCUMENT_VECTORS = """
    INSERT INTO document_embeddings (document_id, model_id, workspace, embedding)
    SELECT c.document_id, e.model_id, e.workspace, l2_normalize(avg(e.embedding))
    FROM chunk_embeddings e JOIN chunks c ON c.id = e.chunk_id GROUP BY 1, 2, 3
"""

ENTITIES = """
    INSERT INTO entities (workspace, external_id, name, aliases, artifact_type, declared, content_hash)
    SELECT 'default', 'e' || n, 'Entidad ' || word, ARRAY[word], 'concept', true, decode(md5(word), 'hex')
    FROM unnest(%(words)s::text[]) WITH ORDINALITY AS given (word, n)
"""

FACTS = """
    INSERT INTO facts (workspace, external_id, subject_id, object_id, predicate, weight)
    SELECT 'default', 'f' || f, subjects.id, objects.id, 'predicado ' || f, (f %% 10 + 1) / 10.0
    FROM generate_series(1, %(facts)s) AS f
    JOIN entities subjects ON subjects.external_id = 'e' || (f %% %(entities)s + 1)
    JOIN entities objects ON objects.external_id = 'e' || ((f * 7 + 3) %% %(entities)s + 1)
"""


def load_items(owner_dsn: str, corpus: Corpus, *, turns: int, memories: int, facts: int) -> None:
    """Fill memory, history and graph once; a database that has turns already is left as it is."""
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        register_vector(connection)
        row = connection.execute("SELECT EXISTS (SELECT FROM history_turns)").fetchone()
        if row and row[0]:
            return
        texts = _texts(corpus)
        _copy_items(connection, "history_turns", texts, count=turns, kind="turn")
        _copy_items(connection, "memory_items", texts, count=memories, kind="fact")
        _copy_item_vectors(connection, "history", "history_turns")
        _copy_item_vectors(connection, "memory", "memory_items")
        connection.execute(DOCUMENT_VECTORS)
        words = [str(word) for word in corpus.vocabulary[:500]]
        connection.execute(ENTITIES, {"words": words})
        connection.execute(FACTS, {"facts": facts, "entities": len(words)})
        connection.execute("VACUUM ANALYZE")


def _texts(corpus: Corpus) -> Iterator[str]:
    for document in corpus.documents():
        for content in document.contents:
            yield " ".join(content.split()[:30])


def _copy_items(connection: Connection[TupleRow], table: str, texts: Iterator[str], *, count: int, kind: str) -> None:
    with connection.cursor().copy(ITEMS.format(table=table)) as copy:  # type: ignore[arg-type]
        copy.set_types(ITEM_TYPES)
        for number in range(count):
            copy.write_row(
                (
                    "default", f"{table}-{number}", next(texts), kind, NOW - timedelta(hours=number % 2000),
                    f"session-{number // 40}", SPEAKERS[number % len(SPEAKERS)], number.to_bytes(32, "big"),
                )
            )  # fmt: skip


def _copy_item_vectors(connection: Connection[TupleRow], name: str, items: str) -> None:
    """Give each item the vector of a chunk with some noise."""
    random = np.random.default_rng(17)
    rows = connection.execute(f"SELECT id FROM {items} ORDER BY id").fetchall()  # type: ignore[arg-type]
    source = connection.execute(
        "SELECT model_id, embedding FROM chunk_embeddings ORDER BY chunk_id LIMIT %s", (len(rows),)
    ).fetchall()
    statement = f"COPY {name}_embeddings (item_id, model_id, workspace, embedding) FROM STDIN WITH (FORMAT binary)"
    with connection.cursor().copy(statement) as copy:  # type: ignore[arg-type]
        copy.set_types(("int8", "int2", "text", "vector"))
        for (item_id,), (model_id, embedding) in zip(rows, source, strict=True):
            vector = np.asarray(embedding.to_numpy(), dtype=np.float32)
            vector += 0.02 * random.standard_normal(len(vector)).astype(np.float32)
            copy.write_row((item_id, model_id, "default", vector / np.linalg.norm(vector)))


def whole_search(rag: Rag, profile: str) -> Variant[Query]:
    async def search(query: Query) -> list[str]:
        response = await rag.search(query.text, limit=10, profile=profile)
        assert not response.degraded, response.degraded
        return [hit.chunk.id for hit in response.hits]

    return search


async def measure(dsn: str, report: Report, corpus: Corpus, *, queries: int, rounds: int) -> None:
    asked = corpus.queries(queries)
    with traced() as trace:
        async with open_container_over(dsn, asked, database_pool_size=20) as container:
            rag = make_rag(container)
            await rag.search(asked[0].text, profile="everything")
            await _count_traffic(rag, trace, report, asked)
    async with open_container_over(dsn, asked, database_pool_size=20) as container:
        rag, sources = make_rag(container), await _wired_sources(container)
        profiles = profiles_of(container.settings, None, extra_sources=())
        for profile in PROFILES:
            base = "its sources side by side"
            timings = await interleaved(
                {base: sources_alone(sources, profiles[profile]), f"library, {profile}": whole_search(rag, profile)},
                asked,
                rounds=rounds,
            )
            lowest = timings[base].row()["p50_ms"]
            report.table(
                f"profile {profile}, {corpus.chunks} chunks",
                [
                    {"variant": name, **timing.row(), "ratio": round(timing.row()["p50_ms"] / lowest, 2)}
                    for name, timing in timings.items()
                ],
            )


async def _count_traffic(rag: Rag, trace: Trace, report: Report, asked: list[Query]) -> None:
    rows = []
    for profile in PROFILES:
        for query in asked[:5]:
            await rag.search(query.text, profile=profile)
        trace.take()
        response = await rag.search(asked[5].text, profile=profile)
        traffic = trace.take()
        rows.append(
            {
                "profile": profile,
                "sources": len(response.reports),
                "statements": len(traffic.statements),
                "round_trips": traffic.round_trips,
                "received_bytes": traffic.received_bytes,
            }
        )
    report.table("traffic of one search", rows)


def sources_alone(sources: Mapping[str, RetrievalSource], profile: RetrievalProfile) -> Variant[Query]:
    """What the database needs: every source of the profile side by side, its hits and nothing else."""

    async def retrieve(query: Query) -> None:
        await asyncio.gather(
            *(
                sources[name].retrieve(
                    SourceQuery(
                        text=query.text,
                        principal=Principal(),
                        filters=(),
                        limit=profile.pool(name),
                        now=NOW,
                        since=None,
                    )
                )
                for name in profile.sources
            )
        )

    return retrieve


async def _wired_sources(container: Container) -> dict[str, RetrievalSource]:
    model = await active_model(container.database, configured=container.embedder.model)
    scan = VectorScan(
        model=model,
        ef_search=container.settings.hnsw_ef_search,
        max_scan_tuples=container.settings.hnsw_max_scan_tuples,
    )
    repository = PostgresDocumentRepository(container.database, scan=scan)
    scoring = PostgresChunkScoring(container.database, model=model)
    chunks = chunk_sources(container.embedder, repository, scoring)
    return {
        chunks.dense.name: chunks.dense,
        chunks.full_text.name: chunks.full_text,
        **collection_sources(container.settings, container.database, container.embedder, scan),
        GRAPH_FACTS: graph_source(container.settings, container.database, container.embedder, model),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--facts", type=int, default=5_000)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    report = Report(as_json=given.json)
    corpus = Corpus(chunks=given.chunks)
    with open_server(data_dir=given.data_dir) as server:
        owner_dsn, dsn = server.database(f"ragcorp_bench_collections_{corpus.chunks}")
        load(owner_dsn, corpus, application_dsn=dsn)
        load_items(owner_dsn, corpus, turns=given.turns, memories=given.memories, facts=given.facts)
        report.facts("machine", machine(dsn))
        asyncio.run(measure(dsn, report, corpus, queries=given.queries, rounds=given.rounds))
    report.end()


if __name__ == "__main__":
    main()
