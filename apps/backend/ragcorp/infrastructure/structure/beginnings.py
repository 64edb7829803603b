"""Recognises the part that a line or heading begins: a clause, an article, an annex, a chapter."""

import re
from dataclasses import dataclass

from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.text.clause_numbers import NumberSpan, number_at
from ragcorp.domain.text.folding import folded

MAX_TITLE, MAX_TITLE_WORDS = 90, 12

CLAUSE, FIGURE = 6, 7
"""Ranks; that of a figure grows with its parts."""

_CUES = dict.fromkeys(
    ("clausula", "clause", "estipulacion", "estipulacio", "pacto", "section"), EntityKind.CLAUSE
) | dict.fromkeys(("articulo", "article", "artigo", "art"), EntityKind.ARTICLE)
_GROUPS = {
    word: rank
    for rank, words in enumerate(
        (
            "anexo annex annexe anex anexe appendix apendice schedule exhibit",
            "libro livro book",
            "titulo title titol part",
            "capitulo chapter capitol",
            "seccion secao seccio",
            "subseccion subsecao",
        )
    )
    for word in words.split()
}
_FIRST = {"preliminar", "preliminary"}
"""A word in place of a number, before the first of a group: ``TÍTULO PRELIMINAR``."""
_UNNUMBERED = 0
"""Rank of parts that need no number: an annex, or a provision at the end of a law."""
_PROVISIONS = {"disposicion", "disposicio", "disposicao", "clausula"}
_PROVISION_KINDS = {
    "adicional", "addicional", "transitoria", "derogatoria", "final", "additional", "suplementaria", "complementaria"
}  # fmt: skip

_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f]){1,19}(?![\w])")
_GAP = re.compile(
    r"\.?[ \t\u00a0]{1,4}(?:n(?:[úu]m)?\.?[ºo°]?\.?[ \t\u00a0]{0,2}(?=[0-9]))?|\.(?=[0-9])", re.IGNORECASE
)
_SEPARATOR = re.compile(r"[\s.:)\]\-\u2010-\u2015\u2212ªº°|]{0,12}")
_STOPPED = re.compile(r"[.:)\]\-\u2010-\u2015\u2212]")
_LETTER = re.compile(r"[A-Z](?!\w)")
_TITLE = re.compile(r"(?:[^.:;]|[.:;](?=[^\s-]))+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The part that a line begins. ``sure``: it counts without its neighbours.

    ``contents``: it is a line of a table of contents, by its page number. ``brief``: a short title and no sentence.
    """

    kind: EntityKind
    rank: int
    number: str | None
    name: str
    title: str
    group: str = ""
    sure: bool = True
    titled: bool = False
    contents: bool = False
    brief: bool = False

    @property
    def look(self) -> tuple[bool, bool, bool]:
        return self.sure, self.titled, self.brief


def beginning(head: str, *, heading: bool, contract: bool) -> Beginning | None:
    """Return the part that a line without markup begins, None if it only mentions a part or is prose.

    Whether one that is not ``sure`` counts depends on the others. ``contract``: numbered headings are clauses.
    """
    if head[:1] in "0123456789" and head:
        return _figure(head, heading=heading, contract=contract)
    word = _WORD.match(head)
    if not word or not head[0].isupper():
        return None
    cue = folded(word[0])
    if cue in _PROVISIONS:
        provision = _provision(head, word.end(), heading=heading)
        if provision:
            return provision
    if cue in _GROUPS:
        return _group(head, cue, word.end(), heading=heading)
    if cue in _CUES:
        return _cue(head, cue, word.end())
    return _ordinal(head, cue, heading=heading)


def title_below(line: str) -> str:
    """Return a line below a lone number as its title; "" if it is prose or begins a part."""
    short = len(line) <= MAX_TITLE and len(line.split()) <= MAX_TITLE_WORDS
    if not short or not line[:1].isupper() or line.endswith((":", ";", ",")) or "|" in line or ". " in line:
        return ""
    return "" if beginning(line, heading=False, contract=False) else line


def _number_after(head: str, end: int) -> NumberSpan | None:
    gap = _GAP.match(head, end)
    return number_at(head, gap.end(), expected=True) if gap else None


def _cue(head: str, word: str, end: int) -> Beginning | None:
    number = _number_after(head, end)
    title = _title(head, number.end, shouted=head[:end].isupper()) if number else None
    if not number or title is None:
        return None
    name = _name(head, number.end, title)
    return Beginning(kind=_CUES[word], rank=CLAUSE, number=number.number, name=name, title=title)


def _group(head: str, word: str, end: int, *, heading: bool) -> Beginning | None:
    """Return an annex, title, chapter: a section by its heading."""
    gap = _GAP.match(head, end)
    start = gap.end() if gap else end
    span = number_at(head, start, expected=True)
    number = span.number if span else None
    rest_start = span.end if span else end
    letter = None if span else _LETTER.match(head, start)
    if letter:
        number, rest_start = letter[0].lower(), letter.end()
    first = _WORD.match(head, start) if gap and not span else None
    if first and folded(first[0]) in _FIRST:
        number, rest_start = folded(first[0]), first.end()
    rank = _GROUPS[word]
    if number is None and (rank != _UNNUMBERED or len(head) > MAX_TITLE):
        return None
    title = _title(head, rest_start, shouted=head[:end].isupper())
    if title is None or not (number or heading or head[:end].isupper() or not title):
        return None
    label = f"{head[:end]} {number}" if number else ""
    name = _name(head, rest_start, title)
    return Beginning(kind=EntityKind.SECTION, rank=rank, number=None, name=name, title=title, group=label)


def _provision(head: str, end: int, *, heading: bool) -> Beginning | None:
    gap = _GAP.match(head, end)
    word = _WORD.match(head, gap.end()) if gap else None
    if not word or folded(word[0]) not in _PROVISION_KINDS:
        return None
    number = _number_after(head, word.end())
    rest_start = number.end if number else word.end()
    title = _title(head, rest_start, shouted=head[:end].isupper())
    if title is None or (number is None and not heading and title and not head[:end].isupper()):
        return None
    label = f"{head[: word.end()]} {number.number}" if number else ""
    name = _name(head, rest_start, title)
    return Beginning(kind=EntityKind.SECTION, rank=_UNNUMBERED, number=None, name=name, title=title, group=label)


def _ordinal(head: str, word: str, *, heading: bool) -> Beginning | None:
    """Return a clause by its bare ordinal, ``SEGUNDA.- Precio``. Recitals are masculine and none."""
    if not word.endswith("a"):
        return None
    span = number_at(head)
    if not span:
        return None
    separator = _SEPARATOR.match(head, span.end)
    stopped = separator is not None and _STOPPED.search(separator[0]) is not None
    title = _title(head, span.end, shouted=head.isupper())
    if title is None or not (stopped or (heading and not title) or span.end == len(head)):
        return None
    return Beginning(
        kind=EntityKind.CLAUSE, rank=CLAUSE, number=span.number, name=_name(head, span.end, title), title=title,
        sure=False, titled=True,
    )  # fmt: skip


def _figure(head: str, *, heading: bool, contract: bool) -> Beginning | None:
    """Return a part by its figure: ``4.2 Plazo``, ``2.ª Precio``."""
    span = number_at(head)
    if not span or not span.number.replace(".", "").isdecimal():
        return None
    title = _title(head, span.end, shouted=False)
    separator = _SEPARATOR.match(head, span.end)
    between = separator[0] if separator else ""
    rest = head[span.end + len(between) :]
    depth = span.number.count(".")
    if not rest:
        if not (heading and contract):
            return None
        return Beginning(kind=EntityKind.CLAUSE, rank=FIGURE + depth, number=span.number, name=head, title="")
    ordinal = "ª" in head[: span.end + len(between)]
    stopped = _STOPPED.search(between) is not None
    opens = rest[0].isupper() or rest[0] in "«\"“'¿¡"
    if title is None or not between or not opens or (ordinal and not stopped):
        return None
    return Beginning(
        kind=EntityKind.CLAUSE if contract or not heading else EntityKind.SECTION,
        rank=CLAUSE if ordinal else FIGURE + depth,
        number=span.number,
        name=_name(head, span.end, title),
        title=title,
        sure=heading and (depth > 0 or stopped),
        titled=ordinal,
    )


def _title(head: str, end: int, *, shouted: bool) -> str | None:
    """Return the title after a number, "" without one, None if the line only mentions the number."""
    separator = _SEPARATOR.match(head, end)
    between = separator[0] if separator else ""
    rest = head[end + len(between) :].strip()
    if not rest:
        return ""
    if not between or rest[0] in ",;/":
        return None
    if rest[0] in "([":
        inside = rest[1:].partition(")")[0]
        return inside if inside[:1].isupper() and len(inside) <= MAX_TITLE else None
    if not _STOPPED.search(between):
        word = rest.split(maxsplit=1)[0].rstrip(".,;:")
        if not (rest[0].isupper() or rest[0] in '«"“¿¡'):
            return None
        if not shouted and len(word) > 1 and word.isupper() and not rest.isupper():
            return None
    match = _TITLE.match(rest)
    title = match[0].strip() if match else ""
    if len(title) > MAX_TITLE or len(title.split()) > MAX_TITLE_WORDS or not title[:1].isupper():
        return ""
    return title


def _name(head: str, end: int, title: str) -> str:
    until = head.find(title, end) + len(title) if title else end
    return " ".join(head[:until].split())
