"""Reads the questions of an answer set: ``questions.jsonl`` next to the folder ``documents``.

One object a line: ``_id``, ``text``, ``kind``, ``answerable``, ``documents``, ``gold``, ``evidence``, ``forbidden``,
and ``yesno`` in kind yesno. Every error names file and line.
"""

from collections.abc import Mapping
from pathlib import Path

from ragcorp.domain.exceptions import InvalidInputError, MissingFileError
from ragcorp.domain.text.checks import is_blank
from ragcorp.evaluation.answers import AskQuestion
from ragcorp.infrastructure.evaluation_sets.lines import bad_line, identity_of, numbered_entries

QUESTIONS = "questions.jsonl"
DOCUMENTS = "documents"


def read_questions(folder: Path) -> list[AskQuestion]:
    """Read the questions of the set in ``folder``. Raises MissingFileError or InvalidInputError."""
    if not (folder / DOCUMENTS).is_dir():
        raise MissingFileError(
            "The set has no folder 'documents'.", field="DIR", remedy="Name the folder that holds it."
        )
    questions = [_question(entry, number) for number, entry in numbered_entries(folder, QUESTIONS)]
    if not questions:
        raise InvalidInputError("The set has no question.", field=QUESTIONS, remedy="Write one object a line.")
    return questions


def _question(entry: Mapping[str, object], number: int) -> AskQuestion:
    answerable = entry.get("answerable")
    if not isinstance(answerable, bool):
        raise bad_line(QUESTIONS, number, "has no answerable", "true or false")
    question = AskQuestion(
        id=identity_of(entry, QUESTIONS, number),
        text=_text(entry, "text", number),
        kind=_text(entry, "kind", number),
        answerable=answerable,
        documents=_texts(entry, "documents", number),
        gold=_texts(entry, "gold", number),
        evidence=_text(entry, "evidence", number, required=answerable),
        forbidden=_texts(entry, "forbidden", number),
        yesno=_text(entry, "yesno", number, required=False),
    )
    if answerable and not (question.documents and (question.gold or question.yesno)):
        raise bad_line(QUESTIONS, number, "is answerable without documents or gold", "documents and gold")
    return question


def _text(entry: Mapping[str, object], key: str, number: int, *, required: bool = True) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise bad_line(QUESTIONS, number, f"has a {key} that is no string", "a string")
    if required and is_blank(value):
        raise bad_line(QUESTIONS, number, f"has no {key}", "a string")
    return value


def _texts(entry: Mapping[str, object], key: str, number: int) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise bad_line(QUESTIONS, number, f"has a {key} that is no list of strings", "a list of strings")
    return tuple(value)
