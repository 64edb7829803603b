"""Parses a model's facts strictly and keeps those that the text supports. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.extraction import ExtractedFact, Extraction
from ragcorp.domain.graph import MAX_ENTITY_NAME, MAX_QUOTE, require_name
from ragcorp.domain.text import strict_json
from ragcorp.domain.text.checks import is_blank
from ragcorp.domain.text.folding import folded

KINDS = ("person", "organization", "place", "product", "project", "event", "document", "entity")
MAX_FACTS = 40
MAX_PREDICATE = 200
STEM = 4

MONTHS = (
    ("ener", "janu", "janeir"),
    ("febr", "fever"),
    ("marz", "march", "marco"),
    ("abri", "apri"),
    ("mayo", "may", "maio"),
    ("juni", "june", "junh"),
    ("juli", "july", "julh"),
    ("agos", "augu"),
    ("sept", "seti", "sete"),
    ("octu", "octo", "outu"),
    ("novi", "nove"),
    ("dici", "dece", "deze"),
)
"""First letters of the months in Spanish, English and Portuguese, folded."""

FIELDS = ("subject", "subject_kind", "predicate", "object", "object_kind", "valid_from", "valid_to", "quote")


def borne_out(answer: str | None, *, text: str) -> Extraction:
    """Return the facts whose quote occurs in ``text`` and contains both names and a word of the predicate.

    Comparison ignores accents, case and white space; names match whole words, predicate words by their first four
    letters. A date with only its year in ``text`` is reduced to that year. Raises ValueError for an answer outside the
    schema.
    """
    passage = _folded(text)
    kept: dict[tuple[object, ...], ExtractedFact] = {}
    dropped = 0
    for said in _read(answer):
        fact = _fact(said, passage)
        if fact is None or len(kept) == MAX_FACTS:
            dropped += 1
        else:
            kept.setdefault((fact.subject, fact.predicate, fact.object, fact.valid_from), fact)
    return Extraction(facts=tuple(kept.values()), dropped=dropped)


def _read(answer: str | None) -> Sequence[Mapping[str, str | None]]:
    whole = strict_json.parse(answer or "")
    if not isinstance(whole, dict) or set(whole) != {"facts"} or not isinstance(whole["facts"], list):
        raise ValueError("no object with facts")
    for said in whole["facts"]:
        if not isinstance(said, dict) or set(said) != set(FIELDS):
            raise ValueError("another fact than asked for")
        for name, value in said.items():
            if not isinstance(value, str) and not (value is None and name in ("valid_from", "valid_to")):
                raise ValueError("a field of another type")
        if said["subject_kind"] not in KINDS or said["object_kind"] not in KINDS:
            raise ValueError("a kind that was not offered")
    return list(whole["facts"])


def _fact(said: Mapping[str, str | None], passage: str) -> ExtractedFact | None:
    subject, predicate, target, quote = (
        " ".join((said[name] or "").split()) for name in ("subject", "predicate", "object", "quote")
    )
    try:
        require_name(subject, field="subject", limit=MAX_ENTITY_NAME)
        require_name(target, field="object", limit=MAX_ENTITY_NAME)
        require_name(predicate, field="predicate", limit=MAX_PREDICATE)
        require_name(quote, field="quote", limit=MAX_QUOTE)
        valid_from, valid_to = _date(said["valid_from"]), _date(said["valid_to"])
    except (InvalidInputError, ValueError):
        return None
    dates = [date for date in (valid_from, valid_to) if date is not None]
    if valid_from and valid_to and valid_to < valid_from:
        return None
    said_there = _folded(quote)
    if not said_there or said_there not in passage:
        return None
    if _folded(subject) == _folded(target) or not all(_names(name, said_there) for name in (subject, target)):
        return None
    if not _says(predicate, said_there) or not all(_names(str(date.year), passage) for date in dates):
        return None
    return ExtractedFact(
        subject=subject,
        subject_kind=said["subject_kind"] or "entity",
        predicate=predicate,
        object=target,
        object_kind=said["object_kind"] or "entity",
        quote=quote,
        valid_from=valid_from and _as_dated(valid_from, passage, month=1, day=1),
        valid_to=valid_to and _as_dated(valid_to, passage, month=12, day=31),
    )


def _names(name: str, passage: str) -> bool:
    plain = _folded(name)
    return not is_blank(plain) and re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", passage) is not None


def _says(predicate: str, quote: str) -> bool:
    """Return whether the quote contains a significant word of the predicate, in any form."""
    words = _folded(predicate).split()
    telling = [word for word in words if len(word) >= STEM] or words
    return any(re.search(rf"(?<!\w){re.escape(word[:STEM])}", quote) for word in telling)


def _as_dated(date: datetime, passage: str, *, month: int, day: int) -> datetime:
    """Return the date, or ``month`` and ``day`` of its year if the passage lacks its own."""
    numbers = set(re.findall(r"\d+", passage))
    names = MONTHS[date.month - 1]
    told = any(re.search(rf"(?<!\w){name}", passage) for name in names) or not numbers.isdisjoint(
        {str(date.month), f"{date.month:02}"}
    )
    if told and not numbers.isdisjoint({str(date.day), f"{date.day:02}"}):
        return date
    return date.replace(month=month, day=day)


def _date(text: str | None) -> datetime | None:
    """Raises ValueError."""
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError("no date")
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _folded(text: str) -> str:
    return " ".join(folded(text).split())
