"""nDCG@10 of each mode on BEIR-style sets: `python -m benchmarks.retrieval_quality corp-es faq-es xquad-es`.

The sets are read from RAGCORP_EVAL_DIR and kept, with their vectors, in a workspace each of the configured database
(RAGCORP_DATA_DIR or DATABASE_URL), so that a second run costs no embedding.
nDCG: Järvelin and Kekäläinen, TOIS 2002, with gains 2^grade - 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import ragcorp
from ragcorp import Principal
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.interface.library.rag import Rag

MODES = ("dense", "sparse", "hybrid")


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], *, depth: int = 10) -> float:
    """Return the normalised discounted cumulative gain in [0, 1] of a ranking of document ids."""
    ideal = sorted(grades.values(), reverse=True)[:depth]
    gained = math.fsum((2 ** grades.get(name, 0) - 1) / math.log2(at + 2) for at, name in enumerate(ranking[:depth]))
    best = math.fsum((2**grade - 1) / math.log2(at + 2) for at, grade in enumerate(ideal))
    return gained / best if best else 0.0


def read_lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        grades[query][document] = int(grade)
    return grades


async def load(rag: Rag, folder: Path) -> None:
    for line in read_lines(folder / "corpus.jsonl"):
        await rag.ingest_text(
            line["_id"], line["text"], media_type="text/plain", attributes=DocumentAttributes(title=line["title"])
        )
    await rag.embed_pending()


async def measure(rag: Rag, folder: Path, *, every: int) -> None:
    grades = read_qrels(folder / "qrels.tsv")
    queries = read_lines(folder / "queries.jsonl")[::every]
    for mode in MODES:
        by_kind: dict[str, list[float]] = defaultdict(list)
        empty = 0
        for query in queries:
            response = await rag.search(query["text"], mode=mode, limit=20)
            ranking = list(dict.fromkeys(hit.chunk.external_id for hit in response.hits))
            empty += not ranking
            by_kind[query.get("kind", "all")].append(ndcg(ranking, grades[query["_id"]]))
        everything = [value for values in by_kind.values() for value in values]
        kinds = " ".join(f"{kind}={fmean(values):.3f}" for kind, values in sorted(by_kind.items()) if len(by_kind) > 1)
        print(f"{folder.name:10} {mode:7} nDCG@10 {fmean(everything):.4f}  n={len(queries)} empty={empty}  {kinds}")


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("sets", nargs="+")
    arguments.add_argument("--every", type=int, default=1, help="use each n-th query only")
    given = arguments.parse_args()
    slow = {"source_timeout_seconds": 60, "search_timeout_seconds": 60, "embed_wait_seconds": 0}
    async with ragcorp.open(chunk_max_tokens=1024, **slow) as rag:
        for name in given.sets:
            folder = Path(os.environ["RAGCORP_EVAL_DIR"]) / name
            in_workspace = rag.as_principal(Principal(workspace=name))
            await load(in_workspace, folder)
            await measure(in_workspace, folder, every=given.every)


if __name__ == "__main__":
    asyncio.run(main())
