"""Every benchmark that needs no model and no evaluation set, one after another: `python -m benchmarks`.

python -m benchmarks targets search growth --data-dir DIR    # only these; a second run finds the corpora loaded
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

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
ONLY_BY_NAME = (("growth", "--chunks", "1000000", "--base", "100000"),)
WITHOUT_A_CORPUS = ("analysis", "ingestion", "pipeline_steps", "grep")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help="of a benchmark; all but growth without one")
    parser.add_argument("--data-dir", type=Path, help="keep the embedded server's files there for the next run")
    given = parser.parse_args()
    chosen = [run for run in (*RUNS, *ONLY_BY_NAME) if run[0] in given.names] if given.names else RUNS
    with temporary_folder() as folder:
        for module, *arguments in chosen:
            # they share their corpora, which take minutes to load
            kept = () if module in WITHOUT_A_CORPUS else ("--data-dir", str(given.data_dir or folder / "data"))
            print(f"\n== python -m benchmarks.{' '.join([module, *arguments])}\n", flush=True)
            subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *arguments, *kept], check=True)


if __name__ == "__main__":
    main()
