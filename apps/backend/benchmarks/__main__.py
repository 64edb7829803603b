"""Every benchmark that needs no model and no evaluation set, one after another: `python -m benchmarks`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = (
    ("search", "--chunks", "10000"),
    ("search", "--chunks", "100000"),
    ("recall", "--chunks", "20000"),
    ("recall", "--chunks", "100000"),
    ("ingestion",),
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ragcorp-bench-") as folder:
        for module, *arguments in RUNS:
            # search and recall share their corpora, which take minutes to load
            kept = () if module == "ingestion" else ("--data-dir", str(Path(folder) / "data"))
            print(f"\n== python -m benchmarks.{' '.join([module, *arguments])}\n", flush=True)
            subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *arguments, *kept], check=True)


if __name__ == "__main__":
    main()
