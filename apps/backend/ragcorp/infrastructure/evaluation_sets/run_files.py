"""Runs in files: all of an evaluation in one JSON document, or one in the six columns of TREC."""

import json
import math
import os
import struct
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from ragcorp.domain.exceptions import InvalidInputError, MissingFileError
from ragcorp.evaluation.runs import RankedDocument, Ranking, Run
from ragcorp.infrastructure.evaluation_sets.lines import bad_line, numbered_lines

FORMAT = "ragcorp-runs-1"


def save_runs(path: Path, runs: Sequence[Run], set_name: str) -> None:
    """Write runs for a later comparison. Raises InvalidInputError where the file cannot be written."""
    document = {
        "format": FORMAT,
        "set": set_name,
        "runs": {
            run.name: {
                query: [[ranked.document, ranked.score] for ranked in ranking]
                for query, ranking in run.rankings.items()
            }
            for run in runs
        },
    }
    write_text(path, json.dumps(document, ensure_ascii=False) + "\n")


def read_run(path: Path, name: str | None = None) -> Run:
    """Read a run that ``save_runs`` or a tool of TREC wrote; ``name`` chooses among several in one file.

    Raises MissingFileError, or InvalidInputError for another kind of file, or an ambiguous or unknown name.
    """
    if path.suffix == ".json":
        return _choose(_saved(path), path.name, name)
    return _trec_run(path)


def write_trec(folder: Path, runs: Sequence[Run]) -> list[Path]:
    """Write a file a run, ``NAME.trec``: query, Q0, document, rank, score, tag.

    trec_eval orders by score alone, in single precision: where the ranking ties there, the score is lowered to the
    next single below. Raises InvalidInputError if a file cannot be written or an id contains white space.
    """
    written = []
    for run in runs:
        tag = "".join(character if character.isalnum() or character in "-.=" else "_" for character in run.name)
        lines = []
        for query, ranking in run.rankings.items():
            for rank, (document, score) in enumerate(_strictly_falling(ranking), start=1):
                for identity in (query, document):
                    if len(identity.split()) != 1:
                        raise InvalidInputError(
                            "A TREC run cannot contain an id with white space.",
                            field="--trec",
                            remedy="Use --save, or ids without white space.",
                        )
                lines.append(f"{query} Q0 {document} {rank} {score!r} {tag}\n")
        path = folder / f"{tag}.trec"
        write_text(path, "".join(lines))
        written.append(path)
    return written


def require_writable(path: Path) -> None:
    """Raise InvalidInputError unless a file can be written at ``path``. Creates its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path) from error
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unwritable(path)


def write_text(path: Path, text: str) -> None:
    """Write a file and create its folder. Raises InvalidInputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path) from error


def _unwritable(path: Path) -> InvalidInputError:
    return InvalidInputError(
        f"{path.name} cannot be written.", field="path", remedy="Check the folder and its permissions."
    )


def _strictly_falling(ranking: Ranking) -> list[RankedDocument]:
    falling: list[RankedDocument] = []
    above = math.inf
    for document, score in ranking:
        single = _single(score)
        above = single if single < above else _single_below(above)
        falling.append(RankedDocument(document, above))
    return falling


def _single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _single_below(value: float) -> float:
    """Return the largest single-precision number below ``value``, itself one."""
    if value == 0:
        return -float(struct.unpack("<f", struct.pack("<I", 1))[0])
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return float(struct.unpack("<f", struct.pack("<I", bits - 1 if value > 0 else bits + 1))[0])


def _choose(runs: Mapping[str, Run], file: str, name: str | None) -> Run:
    if name is None and len(runs) == 1:
        return next(iter(runs.values()))
    if name is None or name not in runs:
        raise InvalidInputError(
            f"{file} holds {'no run of that name' if name else 'several runs'}.",
            field="--compare",
            limit=", ".join(runs),
            remedy=f"Name one as {file}:RUN.",
        )
    return runs[name]


def _saved(path: Path) -> Mapping[str, Run]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError("another format")  # noqa: TRY301 - one place reports all defects
        return {
            name: Run(
                name=name,
                rankings={
                    query: _ranking([RankedDocument(str(document), float(score)) for document, score in ranking])
                    for query, ranking in rankings.items()
                },
            )
            for name, rankings in document["runs"].items()
        }
    except FileNotFoundError:
        raise MissingFileError("There is no such run file.", field="--compare", remedy="Check the path.") from None
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        raise InvalidInputError(
            f"{path.name} is no file of runs.", field="--compare", remedy="Name a file that --save or --trec wrote."
        ) from None


def _trec_run(path: Path) -> Run:
    rows: list[tuple[str, str, int, float]] = []
    seen: set[tuple[str, str]] = set()
    tag = path.stem
    for number, line in numbered_lines(path.parent, path.name):
        columns = line.split()
        try:
            query, _, document, rank, score, tag = columns
            rows.append((query, document, int(rank), _finite(score)))
        except ValueError:
            raise bad_line(path.name, number, "is none of a TREC run", "query Q0 document rank score tag") from None
        if (query, document) in seen:
            raise bad_line(path.name, number, "ranks a document again", "each document once a query")
        seen.add((query, document))
    rows.sort(key=lambda row: (row[0], -row[3], row[2]))
    return Run(
        name=tag,
        rankings={
            query: tuple(RankedDocument(document, score) for _, document, _, score in group)
            for query, group in groupby(rows, key=lambda row: row[0])
        },
    )


def _finite(written: str) -> float:
    score = float(written)
    if not math.isfinite(score):
        raise ValueError("a score is finite")
    return score


def _ranking(documents: Sequence[RankedDocument]) -> Ranking:
    if len({ranked.document for ranked in documents}) != len(documents):
        raise ValueError("a document twice")
    return tuple(documents)
