"""Every benchmark that needs no model and no evaluation set, one after another: `python -m benchmarks`."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.server import temporary_folder

RUNS = (
    ("targets", "--chunks", "10000"),
    ("targets", "--chunks", "100000"),
    ("search", "--chunks", "10000"),
    ("search", "--chunks", "100000"),
    ("recall", "--chunks", "20000"),
    ("recall", "--chunks", "100000"),
    ("sparse", "--chunks", "30000"),
    ("analysis",),
    ("ingestion",),
    ("pipeline_steps",),
    ("collections", "--chunks", "100000"),
    ("grep",),
)
WITHOUT_A_CORPUS = ("analysis", "ingestion", "pipeline_steps", "grep")


def main() -> None:
    with temporary_folder() as folder:
        for module, *arguments in RUNS:
            # targets, search and recall share their corpora, which take minutes to load
            kept = () if module in WITHOUT_A_CORPUS else ("--data-dir", str(folder / "data"))
            print(f"\n== python -m benchmarks.{' '.join([module, *arguments])}\n", flush=True)
            subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *arguments, *kept], check=True)


if __name__ == "__main__":
    main()
