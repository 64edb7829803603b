"""Ingestion: a folder through the library, against a bare COPY of the very rows that this makes.

    python -m benchmarks.ingestion --chunks 10000

Both fill the same tables with the same indexes, one after the other, several times. Vectors are a second measurement:
they come from memory, and go through the backlog into the HNSW index, against a bare COPY into that index.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psycopg
from pgvector.psycopg import register_vector

from benchmarks.corpus import Corpus
from benchmarks.loading import MODEL
from benchmarks.measure import Report, Usage, UsageMeter, machine
from benchmarks.server import Server, open_server
from ragcorp.domain.documents import SourceFile
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.main.opening.library import make_rag
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import open_container

BARE = "bare COPY of the same rows, text"
LIBRARY = "library, folder, text"
BARE_VECTORS = "bare COPY of the same rows, vectors into HNSW"
EMBEDDING = "library, embed_pending, vectors into HNSW"

TEXT_TABLES = ("documents", "document_sources", "chunks", "embedding_backlog")
DATABASE = "ragcorp_bench_ingestion"


class VectorsFromMemory:
    """Hands out the corpus's vectors, one after another."""

    model: EmbeddingModel = MODEL
    batch_size = 64

    def __init__(self, corpus: Corpus) -> None:
        self._vectors: list[Vector] = [tuple(vector) for vector in corpus.vectors().tolist()]
        self._next = 0

    async def embed_query(self, text: str) -> Vector:
        raise NotImplementedError

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        first, self._next = self._next, self._next + len(texts)
        return [self._vectors[number % len(self._vectors)] for number in range(first, self._next)]

    async def aclose(self) -> None:
        return None


def write_folder(folder: Path, corpus: Corpus) -> list[Path]:
    """Write the documents as Markdown, each passage under a heading of its own."""
    paths = []
    for document in corpus.documents():
        path = folder / document.external_id
        path.parent.mkdir(exist_ok=True)
        sections = [f"## Sección {number}\n\n{text}" for number, text in enumerate(document.contents, start=1)]
        path.write_text("\n\n".join([f"# Documento {document.external_id}", *sections]))
        paths.append(path)
    return paths


def columns_of(connection: psycopg.Connection, table: str) -> str:
    rows = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        " AND attgenerated = '' ORDER BY attnum",
        [table],
    ).fetchall()
    return ", ".join(row[0] for row in rows)


def dump(dsn: str, tables: Sequence[str]) -> dict[str, tuple[str, list[bytes]]]:
    """Return each table's rows as COPY's binary format, with the columns' names."""
    dumped = {}
    with psycopg.connect(dsn) as connection:
        for table in tables:
            columns = columns_of(connection, table)
            statement = f"COPY (SELECT {columns} FROM {table}) TO STDOUT WITH (FORMAT binary)"
            with connection.cursor().copy(statement.encode()) as copy:
                dumped[table] = (columns, [bytes(block) for block in copy])
    return dumped


def copy_back(dsn: str, dumped: dict[str, tuple[str, list[bytes]]]) -> None:
    """Load the rows by a bare COPY, in one transaction."""
    with psycopg.connect(dsn) as connection:
        for table, (columns, blocks) in dumped.items():
            statement = f"COPY {table} ({columns}) FROM STDIN WITH (FORMAT binary)"
            with connection.cursor().copy(statement.encode()) as copy:
                for block in blocks:
                    copy.write(block)
        connection.commit()


def empty(dsn: str, *tables: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"TRUNCATE {', '.join(tables)} CASCADE")


def preparation_seconds(paths: Sequence[Path], folder: Path) -> dict[str, float]:
    """Return where the client's time goes before any SQL."""
    settings = load_settings({"embedding_provider": "none"})
    parser = MultiFormatParser()
    chunker = StructureChunker(max_tokens=settings.chunk_max_tokens, overlap_tokens=settings.chunk_overlap_tokens)
    read, parsed, chunked = 0.0, 0.0, 0.0
    for path in paths:
        started = time.perf_counter()
        content = path.read_bytes()
        loaded = time.perf_counter()
        file = SourceFile(content=content, media_type="text/markdown", filename=str(path.relative_to(folder)))
        text = parser.parse(file)
        told = time.perf_counter()
        chunker.chunk(text)
        read, parsed, chunked = read + loaded - started, parsed + told - loaded, chunked + time.perf_counter() - told
    return {"read": read, "parse": parsed, "chunk": chunked}


async def run(arguments: argparse.Namespace, server: Server, report: Report) -> None:
    corpus = Corpus(chunks=arguments.chunks, seed=arguments.seed)
    server.drop(DATABASE)
    owner_dsn, dsn = server.database(DATABASE)
    migrate(owner_dsn, embedding_model=(MODEL.name, MODEL.dimensions), application_dsn=dsn)
    report.facts("machine", machine(dsn))
    settings = load_settings({"embedding_provider": "none", "embed_wait_seconds": 0})
    meter = UsageMeter(dsn)
    used: dict[str, list[Usage]] = {}

    @contextmanager
    def measured(name: str) -> Iterator[None]:
        started = meter.read()
        yield
        used.setdefault(name, []).append(meter.read().since(started))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_folder(folder, corpus)
        async with open_container(settings, dsn, parts=Parts(embedder=VectorsFromMemory(corpus))) as container:
            rag = make_rag(container)
            for _ in range(arguments.rounds):
                # in a thread: it waits for the refresh of statistics, which needs this event loop to end
                await asyncio.to_thread(empty, owner_dsn, "documents", "embedding_cache")
                with measured(LIBRARY):
                    result = await rag.ingest_folder(folder)
                if result.failures:
                    raise SystemExit(f"{len(result.failures)} documents failed: {result.failures[0].error}")
                texts = dump(owner_dsn, TEXT_TABLES)
                await asyncio.to_thread(empty, owner_dsn, "documents")
                with measured(BARE):
                    copy_back(owner_dsn, texts)
                with measured(EMBEDDING):
                    await rag.embed_pending()
                vectors = dump(owner_dsn, ("chunk_embeddings",))
                await asyncio.to_thread(empty, owner_dsn, "chunk_embeddings")
                with measured(BARE_VECTORS):
                    copy_back(owner_dsn, vectors)
        with psycopg.connect(owner_dsn) as connection:
            register_vector(connection)
            row = connection.execute("SELECT count(*) FROM chunks").fetchone()
            assert row is not None
            chunks = int(row[0])
        parts = preparation_seconds(paths, folder)
    report.table(
        f"ingestion of {len(paths)} Markdown documents, {chunks} chunks",
        [
            _row(name, used[name], chunks, base=used[base])
            for name, base in ((BARE, BARE), (LIBRARY, BARE), (BARE_VECTORS, BARE_VECTORS), (EMBEDDING, BARE_VECTORS))
        ],
    )
    total = median(usage.wall for usage in used[LIBRARY])
    rest = total - math.fsum(parts.values())
    report.table(
        "where the folder's time goes",
        [
            {"part": part, "seconds": round(seconds, 2), "share_%": round(100 * seconds / total)}
            for part, seconds in {**parts, "hash, SQL, event loop": rest}.items()
        ],
    )
    server.drop(DATABASE)


def _row(name: str, used: Sequence[Usage], chunks: int, *, base: Sequence[Usage]) -> dict[str, object]:
    seconds = median(usage.wall for usage in used)
    server = [usage.server for usage in used if usage.server is not None]
    return {
        "variant": name,
        "seconds": round(seconds, 2),
        "chunks_per_second": round(chunks / seconds),
        "of_base": round(median(usage.wall for usage in base) / seconds, 2),
        "client_cpu_s": round(median(usage.client for usage in used), 2),
        "server_cpu_s": round(median(server), 2) if server else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    report = Report(as_json=arguments.json)
    with open_server() as server:
        asyncio.run(run(arguments, server, report))
    report.end()


if __name__ == "__main__":
    main()
