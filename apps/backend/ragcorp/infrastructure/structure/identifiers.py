"""Codes in a text: letters and digits, joined by - / . or _ (``FAC-2024-0113``, ``ACME/2024/7``, ``B12345678``)."""

import logging
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.text.account_numbers import account_at
from ragcorp.domain.text.entity_names import identifier_name
from ragcorp.infrastructure.structure.text_span import Lines, TextSpan, UniqueKeys

MAX_IDENTIFIERS = 5_000
"""Of a document, the first in its text."""
MAX_CONTENT = 1_000
"""Characters of the displayed text of one."""
MIN_CODE, MAX_CODE = 3, 60

logger = logging.getLogger(__name__)

_HYPHENS = "\u2010\u2011\u2012\u2013\u2212"
"""Hyphens in text from Word and PDF."""
_AS_HYPHEN = str.maketrans(dict.fromkeys(_HYPHENS, "-"))
_DIGIT = re.compile("[0-9]")
_BEFORE_DIGIT = 60
_TOKEN = re.compile(
    rf"(?<![^\W_])(?=[^\W_ªº])(?=[^\s\d]{{0,{_BEFORE_DIGIT}}}[0-9])[^\W_ªº]+(?:[-./_{_HYPHENS}][^\W_ªº]+)*"
)
_DASH = "\u2013"
"""A hyphen, or that of a range: between two that both look like ``_END``."""
_END = re.compile(r"[^\W\d_](?:[^\W_]|[./-](?=[^\W_]))*[0-9]")
_SEPARATORS = re.compile(r"[-./_]")
_RUNS = re.compile(r"[0-9]+|[^\W\d_]+")
_TRAILING_WORD = re.compile(r"[./_][^\W\d_]+$")
"""After a code: a file type, or a word after a full stop."""
_VARIANT = re.compile(r"/[A-Z]")
_VERSION = re.compile(
    r"v?[0-9]{1,4}(?:\.[0-9]+)*(?:[-._]?(?:a|b|rc|alpha|beta|dev|post|final)[.-]?[0-9]*)?", re.IGNORECASE
)
_AMOUNT = re.compile(r"(?:eur|usd|gbp|chf|mxn|cop|clp|ars|brl|us)[-.]?[0-9][0-9.]*", re.IGNORECASE)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,9}Z?")
_MEASURE = re.compile(r"[0-9]+[^\W\d_A-Z][^\W\d_]{0,4}|[0-9]+(?:[KMGTP]B|[kM]W[h]?|[MG]Hz)")
_LEGAL = re.compile(r"[0-9]{5,9}[A-Z]|[A-Z]{1,8}[0-9]{2,}[A-Z]?|[^\W\d_]{1,12}[0-9]{3,}")
"""Without separators: the number of a person or firm, a model, a ticket."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SHORT = re.compile(r"[^\W\d_]{1,10}-[0-9](?:[-/][^\W\d_]{1,3})?|[^\W\d_]{2,10}(?:[-/][^\W\d_]{1,10}){1,3}-[0-9]")
"""With a single figure: ``T-9``, ``PLC-7/B``, ``RRHH-ALTA-3``."""
_STANDARDS = frozenset({"UTF-7", "UTF-8", "SHA-1", "SHA-2", "SHA-3", "MPEG-2", "MPEG-4"})
_MONTHS = frozenset(
    name
    for names in (
        "ene jan feb mar abr apr may mai jun jul ago aug sep set oct out nov dic dec dez enero febrero marzo abril",
        "mayo junio julio agosto septiembre setiembre octubre noviembre diciembre january february march april june",
        "july august september october november december janeiro fevereiro março maio junho julho setembro outubro",
        "novembro dezembro",
    )
    for name in names.split()
)
_DEFINES = re.compile(
    r"(?:^|[\s|>*(-])(?:c[óo]digo|code|ref(?:erencia|erence)?|n[úu]mero|number|identificador|id|expediente|factura|pedido"
    r"|contrato|invoice|order|sku|art[íi]culo|nif|cif|dni|matr[íi]cula|p[óo]liza|incidencia|ticket)\W{0,4}"
    r"(?:n\W{0,3}[ºo°]?\W{0,3})?[:=|]?[\s*`]{0,3}$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[ \t>]{0,12}(?:[-*+\u2022]|[0-9]{1,3}[.)])[ \t]+")
_ROW_LEAD = re.compile(r"[ \t>|*`_-]{0,12}")
_RULE = re.compile(r"^[ \t]{0,3}(?:\|[ \t]*)?:?-[-:| \t]*$", re.MULTILINE)
LOOK_BACK = 40

_OF_ADDRESS = tuple("@/\\?=&%~+$€£_.")
"""Characters before a part of an address, a path or an amount."""


@dataclass(slots=True)
class _Place:
    code: str
    offset: int
    defines: bool


def identifier_spans(
    text: str, lines: Lines, *, path: str, spans: Sequence[TextSpan], headings: frozenset[int], keys: UniqueKeys
) -> tuple[TextSpan, ...]:
    """Return one span per code: its definition (a row or line that begins with it), else its first occurrence.

    ``headings`` are the offsets of lines that begin a part: such a line is shown with the paragraph after it.
    """
    places: dict[str, _Place] = {}
    undefined, lost = MAX_IDENTIFIERS, False
    for code, offset in _codes(text):
        name = identifier_name(code)
        place = places.get(name)
        if place is None:
            if len(places) < MAX_IDENTIFIERS:
                defines = _defines(text, lines, offset, headings)
                places[name] = _Place(code=code, offset=offset, defines=defines)
                undefined -= defines
            else:
                lost = True
        elif not place.defines and _defines(text, lines, offset, headings):
            places[name] = _Place(code=code, offset=offset, defines=True)
            undefined -= 1
        if lost and not undefined:
            break
    if lost:
        logger.warning("a document has more than %d codes: the rest are not found by name", MAX_IDENTIFIERS)
    tables = _tables(text, lines)
    starts = [span.start for span in spans]
    codes: list[TextSpan] = []
    for name, place in sorted(places.items(), key=lambda item: item[1].offset):
        start, end, above = _shown(text, lines, place, headings, tables)
        owner = spans[max(bisect_right(starts, place.offset) - 1, 0)]
        codes.append(
            TextSpan(
                key=keys.of(f"{path}#{place.code}"),
                kind=EntityKind.IDENTIFIER,
                name=place.code,
                names=(name,),
                container=None if owner.kind is EntityKind.FILE else owner.key,
                start=start,
                end=end,
                line_start=lines.index(start) + 1,
                line_end=lines.last(start, end),
                content=above + text[start:end],
            )
        )
    return tuple(codes)


def is_code(token: str) -> bool:
    """Return whether a token is an identifier: not a date, amount, measure, version or numbered word."""
    if not MIN_CODE <= len(token) <= MAX_CODE:
        return False
    token = token.translate(_AS_HYPHEN)
    if _UUID.fullmatch(token):
        return True
    if _VERSION.fullmatch(token) or _AMOUNT.fullmatch(token) or _MOMENT.match(token):
        return False
    parts = _SEPARATORS.split(token)
    digits = sum(character.isdigit() for character in token)
    letters = [character for character in token if character.isalpha()]
    if not letters or not digits:
        return False
    if len(parts) == 1:
        return _LEGAL.fullmatch(token) is not None or (len(token) >= 5 and len(_RUNS.findall(token)) >= 4)
    if any(part.casefold() in _MONTHS or _MEASURE.fullmatch(part) for part in parts):
        return False
    shouted = all(character.isupper() for character in letters)
    if not shouted and "." in token:
        return False
    if digits == 1:
        return shouted and _SHORT.fullmatch(token) is not None and token not in _STANDARDS
    return shouted or (digits >= 3 and parts[-1][-1].isdigit() and parts[0][0].isalpha())


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of ``_TOKEN``, each looked for from where one with the next digit may begin."""
    end = 0
    while digit := _DIGIT.search(text, end):
        match = _TOKEN.search(text, max(end, digit.start() - _BEFORE_DIGIT))
        if match is None:
            return
        yield match
        end = match.end()


def _codes(text: str) -> Iterator[tuple[str, int]]:
    account_end = 0
    for match in _tokens(text):
        start, token = match.start(), match[0]
        if len(token) > 2 * MAX_CODE or start < account_end:
            continue
        account = account_at(text, start)
        if account:
            account_end = start + len(account)
            yield account, start
            continue
        before, after = text[max(start - 2, 0) : start], text[match.end() : match.end() + 3]
        if before.endswith(_OF_ADDRESS) or (before.endswith("#") and before[0] not in "# (\n\t"):
            continue
        if after.startswith(("@", "%", "€", "\\", "://")) or token[:4].lower() == "www.":
            continue
        bare = _TRAILING_WORD.sub("", token)
        token = token if _VARIANT.fullmatch(token, len(bare)) and token[0].isalpha() and is_code(bare) else bare
        for place, end in _ends(token):
            if is_code(end):
                yield end, start + place


def _ends(token: str) -> list[tuple[int, str]]:
    """Return both codes of a range (``E01`` and ``E05`` of E01\u2013E05) with their places, else the token."""
    first, dash, last = token.partition(_DASH)
    if dash and _END.fullmatch(first) and _END.fullmatch(last):
        return [(0, first), (len(first) + 1, last)]
    return [(0, token)]


def _defines(text: str, lines: Lines, offset: int, headings: frozenset[int]) -> bool:
    line = lines.starts[lines.index(offset)]
    if line in headings or line == offset:
        return True
    before = text[max(line, offset - LOOK_BACK) : offset]
    if offset - line <= LOOK_BACK and _ROW_LEAD.fullmatch(before):
        return True
    return _DEFINES.search(before) is not None and before.rstrip("*` \t")[-1:] in ":=|"


def _tables(text: str, lines: Lines) -> list[tuple[int, int, int]]:
    """Return the pipe tables as indexes of lines: of the header, of the first row, and after the last row."""
    tables: list[tuple[int, int, int]] = []
    free = 0
    for match in _RULE.finditer(text):
        if "|" not in match[0]:
            continue
        rule = lines.index(match.start())
        if rule - 1 < free or "|" not in lines.head(rule - 1, MAX_CONTENT):
            continue
        row = rule + 1
        while row < len(lines.starts) and "|" in lines.head(row, MAX_CONTENT):
            row += 1
        tables.append((rule - 1, rule + 1, row))
        free = row
    return tables


def _shown(
    text: str, lines: Lines, place: _Place, headings: frozenset[int], tables: list[tuple[int, int, int]]
) -> tuple[int, int, str]:
    """Return the displayed span of a code, and the header of its table if it is in one."""
    index = lines.index(place.offset)
    start, end = lines.starts[index], lines.end(index)
    table = bisect_right(tables, index, key=lambda table: table[0]) - 1
    if table >= 0 and tables[table][1] <= index < tables[table][2]:
        header, row, _ = tables[table]
        above = text[lines.starts[header] : lines.starts[row]]
        if len(above) + end - start <= MAX_CONTENT:
            return start, end, above
        return (*_window(text, start, end, place.offset), "")
    if start in headings:
        return (*_window(text, start, _below(lines, index, headings), start), "")
    if place.offset != start and not _BULLET.match(text, start):
        first, last = _paragraph(lines, index, headings)
        if lines.end(last) - lines.starts[first] <= MAX_CONTENT:
            return lines.starts[first], lines.end(last), ""
    return (*_window(text, start, end, place.offset), "")


def _below(lines: Lines, index: int, headings: frozenset[int]) -> int:
    """Return the end of the first paragraph below a heading, or of the heading itself."""
    first = index + 1
    while first < min(index + 3, len(lines.starts) - 1) and not lines.head(first, MAX_CONTENT).strip():
        first += 1
    if first >= len(lines.starts) or lines.starts[first] in headings:
        return lines.end(index)
    return lines.end(_paragraph(lines, first, headings)[1])


def _paragraph(lines: Lines, index: int, headings: frozenset[int]) -> tuple[int, int]:
    """Return the first and last line of the paragraph around a line, no further than MAX_CONTENT characters away."""
    first = last = index
    lowest, highest = lines.starts[index] - MAX_CONTENT, lines.starts[index] + MAX_CONTENT
    while first and lines.starts[first] > lowest and lines.starts[first] not in headings:
        if not lines.head(first - 1, MAX_CONTENT).strip():
            break
        first -= 1
    while last + 1 < len(lines.starts) and lines.starts[last] < highest and lines.starts[last + 1] not in headings:
        if not lines.head(last + 1, MAX_CONTENT).strip():
            break
        last += 1
    return first, last


def _window(text: str, start: int, end: int, offset: int) -> tuple[int, int]:
    """Return at most MAX_CONTENT characters of ``[start, end)`` around an offset, cut at spaces where there are any."""
    if end - start <= MAX_CONTENT:
        return start, end
    first = max(start, min(offset - MAX_CONTENT // 3, end - MAX_CONTENT))
    last = first + MAX_CONTENT
    if first > start:
        first = text.find(" ", first, offset) + 1 or first
    if last < end:
        space = text.rfind(" ", offset + MAX_CODE, last)
        last = space if space > 0 else last
    return first, last
