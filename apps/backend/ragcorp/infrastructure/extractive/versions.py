"""Which of two statements is in force: the one of the newer version of a document, or the later correction.

Documents are of one family if their titles, or their names, are equal without numbers, dates and words of versioning.
Repealed documents come last; others compare by version, then by date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from ragcorp.domain.documents import Chunk
from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.terms import Candidate
from ragcorp.infrastructure.extractive.words import listed, same_root

ALIKE = 0.3
"""Least share of the words of the shorter of two statements of different versions that both have."""
SAME_HEADING = 0.75
"""The same for their headings."""
HEAD = 250
"""Characters at the beginning of a document that name its version."""

_MONTHS_IN_ORDER = (
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "january february march april may june july august september october november december",
    "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
)
_MONTH_NUMBER = {name: number for months in _MONTHS_IN_ORDER for number, name in enumerate(listed(months), start=1)} | {
    "setiembre": 9
}
_REPEALED = re.compile(
    r"\bderogad[oa]s?\b|\bsin vigencia\b|\bno vigente\b|\bobsolet[oa]\b|\bsuperseded\b|\brevogad[oa]\b|\bhistoric[oa]\b"
)
_VERSION = re.compile(r"(?:\bversion|\brevision|\bedicion|\bversao|\brev\.?|\bv)\s*(\d+(?:\.\d+)?)\b")
_ITS_VERSION = re.compile(
    r"(?:^|[—\u2013(,;.|*-]\s*)(?:version|revision|edicion|versao)\**\s*(\d+(?:\.\d+)?)", re.MULTILINE
)
_DATE = re.compile(
    r"\b(\d{1,2})(?:\s+de)?\s+([a-z]+)(?:\s+(?:de|del))?\s+((?:19|20)\d{2})\b|"
    r"\b((?:19|20)\d{2})[-/ ](\d{2})(?:[-/ ](\d{2}))?\b|\b(\d{1,2})[/.](\d{1,2})[/.]((?:19|20)\d{2})\b"
)
_VERSIONING = re.compile(
    r"\b(?:version|versao|revision|rev|edicion|v\d+|derogad[oa]|vigente|borrador|draft|final|antigu[oa]|nuev[oa]|old|new)\b"
    r"|\d+"
)
_CHANGES = re.compile(
    r"\b(?:pasan?|pasaran?|paso) (?:de|del|a)\b|\b(?:sube|suben|baja|bajan) (?:de|a|al|hasta)\b|"
    r"\brectific|\bcorrij|\bcorreg|\b(?:dejan?|quedan?) (?:sin efecto|en|anulad|fijad)|"
    r"\bse (?:reduce|retrasa|aplaza|pospone|adelanta|amplia|eleva|rectifica|corrige|modifica|"
    r"revoca|anula|sustituye|mantiene|cambia|traslada|pasa|opta|deroga|descarta|desiste)n?\b|"
    r"\b(?:me equivoque|un error|hay un error|errata|por error|al final|verdader[oa]|ahora (?:es|son|sera|seran))\b|"
    r"\bnueva fecha\b|\bdefinitiv|\bya no\b|\ben lugar de\b|\ben vez de\b|\breal(?:mente)? (?:es|son|era)\b|"
    r"\bfinalmente\b|\bno es (?:el|la)\b|\bno era\b|\bfueron .{1,30}, no \b|"
    r"\bnew date\b|\bcorrect|\bpostpon|\binstead of\b"
)
_MESSAGE = re.compile(r"(?:De|From|Enviado por)\s*:|\[|\*\*[^*]*\d{4}")
"""Beginning of the lead of a message: its author and date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """How current a document is. ``date`` is (year, month, day) with zeros where unknown; ``version`` may be empty."""

    in_force: bool
    version: tuple[int, ...]
    date: tuple[int, int, int]

    def is_newer(self, other: Version) -> bool:
        if self.in_force != other.in_force:
            return self.in_force
        if self.version and other.version and self.version != other.version:
            return self.version > other.version
        return self.date > other.date > (0, 0, 0)


def version_of(chunk: Chunk, about: str) -> Version:
    """Return how current a document is, by its name, its title and its beginning, which ``about`` contains."""
    name = folded_in_place(f"{chunk.title} {re.sub(r'[_/]', ' ', chunk.external_id)}")
    head = folded_in_place(about[: HEAD + len(chunk.title) + len(chunk.external_id)])
    version = _VERSION.search(name) or re.search(r"-v(\d+)\b", name) or _ITS_VERSION.search(head)
    return Version(
        in_force=_REPEALED.search(name) is None and _REPEALED.search(head) is None,
        version=tuple(int(part) for part in version.group(1).split(".")) if version else (),
        date=date_in(name) or date_in(head) or (0, 0, 0),
    )


def date_in(plain: str) -> tuple[int, int, int] | None:
    """Return the first date in folded text, with day 0 if it has none."""
    for match in _DATE.finditer(plain):
        day, month, year, iso_year, iso_month, iso_day, other_day, other_month, other_year = match.groups()
        if year and month in _MONTH_NUMBER:
            return int(year), _MONTH_NUMBER[month], int(day)
        if iso_year and 1 <= int(iso_month) <= 12:
            return int(iso_year), int(iso_month), int(iso_day or 0)
        if other_year:
            return int(other_year), int(other_month), int(other_day)
    return None


def same_family(one: Chunk, other: Chunk) -> bool:
    """Return whether two documents are versions of one, by their names or by equal titles with a version in each.

    Look-alike contracts with equal titles are not, nor are passages without a document.
    """
    if one.document_id == other.document_id or not (one.of_document and other.of_document):
        return False
    folder, _, name = one.external_id.rpartition("/")
    other_folder, _, other_name = other.external_id.rpartition("/")
    if folder == other_folder and _stem(name) and _stem(name) == _stem(other_name):
        return True
    return (
        bool(one.title)
        and _stripped(one.title) == _stripped(other.title)
        and all(_VERSION.search(folded_in_place(chunk.title)) for chunk in (one, other))
    )


def _stem(name: str) -> str:
    return _stripped(re.sub(r"[-_]", " ", re.sub(r"\.\w+$", "", name)))


def _stripped(text: str) -> str:
    return " ".join(re.findall(r"[^\W\d_]+", _VERSIONING.sub(" ", folded_in_place(text))))


def changes(text: str) -> bool:
    """Return whether a statement announces a change."""
    return _CHANGES.search(folded_in_place(text)) is not None


def supersedes(new: Candidate, old: Candidate, abouts: Mapping[UUID, str]) -> bool:
    """Return whether ``new`` replaces ``old``, if both are about the same.

    In one document, a later statement that announces a change does; in a family, the newer document's statement.
    """
    newer, older = new.passage.chunk, old.passage.chunk
    corrects = changes(new.statement.text) and not changes(old.statement.text)
    if newer.document_id == older.document_id:
        return corrects and (newer.chunk_index, new.position) > (older.chunk_index, old.position)
    return same_family(newer, older) and version_of(newer, abouts.get(newer.document_id, "")).is_newer(
        version_of(older, abouts.get(older.document_id, ""))
    )


def later_message(new: Candidate, old: Candidate) -> bool:
    """Return whether both are in messages of one thread, ``new`` in a later one."""
    newer, older = new.passage.chunk, old.passage.chunk
    return (
        newer.document_id == older.document_id
        and (newer.chunk_index, new.position) > (older.chunk_index, old.position)
        and new.statement.lead != old.statement.lead
        and all(_MESSAGE.match(candidate.statement.lead) for candidate in (new, old))
    )


def counterparts(old: Candidate, candidates: Iterable[Candidate], abouts: Mapping[UUID, str]) -> list[Candidate]:
    """Return newer versions of a sentence: under a like heading, with many of its words or announcing a change."""
    if old.statement.cells:
        return []
    return [
        candidate
        for candidate in candidates
        if not candidate.statement.cells
        and not candidate.statement.is_heading
        and candidate.passage.chunk.document_id != old.passage.chunk.document_id
        and supersedes(candidate, old, abouts)
        and _alike(candidate.heading, old.heading) >= SAME_HEADING
        and (changes(candidate.statement.text) or _alike(old.statement.text, candidate.statement.text) >= ALIKE)
    ]


def _alike(one: str, other: str) -> float:
    """Return the share of the words of the shorter text with a word of the same root in the other."""
    words, others = sorted((set(re.findall(r"[^\W\d_]{4,}", folded_in_place(text))) for text in (one, other)), key=len)
    return sum(any(same_root(word, other_word) for other_word in others) for word in words) / (len(words) or 1)
