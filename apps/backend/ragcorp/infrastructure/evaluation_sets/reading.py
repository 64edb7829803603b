"""Reads evaluation sets in the layout of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``.

Thakur et al.: BEIR, NeurIPS 2021 (datasets and benchmarks). ``queries.jsonl`` may name a ``kind`` a query, and the
judgements may be in ``qrels/test.tsv``. In place of ``corpus.jsonl`` a set may have the folder ``files``: each file
of it is a passage, and its path below that folder is the id. Every error names file and line.
"""

from collections.abc import Mapping
from pathlib import Path

from ragcorp.domain.exceptions import InvalidInputError, MissingFileError
from ragcorp.domain.text.checks import is_blank, require_utf8
from ragcorp.evaluation.sets import EvaluationQuery, EvaluationSet, Passage, Qrels, judged
from ragcorp.infrastructure.evaluation_sets.lines import bad_line, identity_of, numbered_entries, numbered_lines

CORPUS = "corpus.jsonl"
TREE = "files"
QUERIES = "queries.jsonl"
QRELS = ("qrels.tsv", "qrels/test.tsv")


def read_set(folder: Path) -> EvaluationSet:
    """Read a set; leave out queries without a relevant document. Raises MissingFileError or InvalidInputError."""
    if not folder.is_dir():
        raise MissingFileError("There is no such folder.", field="DIR", remedy="Name the folder of an evaluation set.")
    tree = folder / TREE if (folder / TREE).is_dir() and not (folder / CORPUS).exists() else None
    passages = _passages(folder) if tree is None else _files(tree)
    queries = _queries(folder)
    qrels = read_qrels(folder)
    measured = judged(queries, qrels)
    if not measured:
        raise InvalidInputError(
            "No query of the set has a relevant document.",
            field=QRELS[0],
            remedy="Check that the judgements name the ids of queries.jsonl, and grades above 0.",
        )
    return EvaluationSet(
        name=folder.resolve().name,
        passages=passages,
        queries=measured,
        qrels=qrels,
        tree=None if tree is None else str(tree.resolve()),
    )


def read_qrels(folder: Path) -> Qrels:
    """Read judgements: query, document and grade, or the four columns of TREC, with or without a line of headings."""
    name = next((name for name in QRELS if (folder / name).is_file()), QRELS[0])
    qrels: dict[str, dict[str, int]] = {}
    for number, line in numbered_lines(folder, name):
        columns = line.split("\t") if "\t" in line else line.split()
        columns = [column.strip() for column in columns]
        if len(columns) not in (3, 4):
            raise bad_line(name, number, "has neither three nor four columns", "query, document, grade")
        query, document, written = columns[0], columns[-2], columns[-1]
        try:
            grade = int(written)
        except ValueError:
            if not qrels and number == 1:
                continue
            raise bad_line(name, number, "has a grade that is no whole number", "a whole number") from None
        if not query or not document:
            raise bad_line(name, number, "names no query or no document", "query, document, grade")
        if qrels.setdefault(query, {}).setdefault(document, grade) != grade:
            raise bad_line(name, number, "grades a document again, and otherwise", "one grade a document")
    return qrels


def _passages(folder: Path) -> list[Passage]:
    """Passages without text or title are left out: nothing could find them."""
    passages: list[Passage] = []
    for number, entry in numbered_entries(folder, CORPUS):
        title, text = _text(entry, "title", CORPUS, number), _text(entry, "text", CORPUS, number)
        if is_blank(text):
            title, text = "", title
        if not is_blank(text):
            passages.append(Passage(id=identity_of(entry, CORPUS, number), title=title, text=text))
    if not passages:
        raise bad_line(CORPUS, 1, "holds no passage", "an object with _id, title and text a line")
    return passages


def _files(tree: Path) -> list[Passage]:
    """Skips hidden files, hidden folders and links."""
    passages: list[Passage] = []
    for path in sorted(tree.rglob("*")):
        relative = path.relative_to(tree)
        if path.is_symlink() or not path.is_file() or any(part.startswith(".") for part in relative.parts):
            continue
        name = relative.as_posix()
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            raise InvalidInputError(
                "A file of the tree is not UTF-8.", field=f"{TREE}/{name}", limit="UTF-8", remedy="Convert the file."
            ) from None
        except OSError as error:
            raise InvalidInputError(
                "A file of the tree cannot be read.", field=f"{TREE}/{name}", remedy="Check its permissions."
            ) from error
        if not is_blank(text):
            passages.append(Passage(id=name, title="", text=text))
    if not passages:
        raise InvalidInputError("The tree holds no text.", field=TREE, remedy="Put the files of the set there.")
    return passages


def _queries(folder: Path) -> list[EvaluationQuery]:
    queries: list[EvaluationQuery] = []
    for number, entry in numbered_entries(folder, QUERIES):
        text = _text(entry, "text", QUERIES, number)
        if is_blank(text):
            raise bad_line(QUERIES, number, "has an empty text", "a text")
        queries.append(
            EvaluationQuery(
                id=identity_of(entry, QUERIES, number), text=text, kind=_text(entry, "kind", QUERIES, number)
            )
        )
    return queries


def _text(entry: Mapping[str, object], key: str, name: str, number: int) -> str:
    text = entry.get(key)
    if text is None and key != "text":
        return ""
    if not isinstance(text, str):
        problem = f"has no {key}" if text is None else f"has a {key} that is no string"
        raise bad_line(name, number, problem, "a string")
    try:
        require_utf8(text, field=key)
    except InvalidInputError:
        raise bad_line(name, number, f"has a {key} with a lone surrogate", "valid Unicode") from None
    return text
