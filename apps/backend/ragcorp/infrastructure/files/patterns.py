"""Terms as regular expressions and globs as rules, for ripgrep and for the check of its matches.

A term that is not ASCII is searched in NFC, in NFD and in the bytes of Windows-1252 (Latin-1 but for a few signs), so
that files older than UTF-8 are found. Those bytes also begin UTF-8 characters: the decoded line decides which terms it
contains.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.files.values import GrepCase, LineSearch, Mark
from ragcorp.infrastructure.files.globs import Glob, is_light, plain_braces

MAX_MARKS = 64
"""Marks of one term in one line. A generated file may have a hundred thousand in one."""

UTF_8 = "utf-8"

_SPECIAL = frozenset(r"\.+*?()|[]{}^$#&-~")
_COMBINING = "\u0300-\u036f"
_NO_TILDE = "\u0300-\u0302\u0304-\u036f"
"""Behind an n: with a tilde it is an ñ."""
_ALIKE = ("-\u2010\u2011\u2012\u2013\u2212", "'\u2018\u2019", '"\u201c\u201d')
"""Characters that people type, and their printed variants: each matches the others of its kind."""


def _accented() -> Mapping[str, str]:
    """Return each letter of ASCII with its accented forms in Latin-1 and Latin Extended-A; ``n`` without ñ."""
    forms: defaultdict[str, str] = defaultdict(str)
    for form in map(chr, range(0xC0, 0x180)):
        base = unicodedata.normalize("NFD", form)[0]
        if base != form and base.isascii() and form not in "ñÑ":
            forms[base] += form
    return dict(forms)


_ACCENTED = _accented()
_SIGNS = {sign: kind for kind in _ALIKE for sign in kind}


class Term:
    """A literal as ``pattern`` for ripgrep, and its places in a text.

    A hyphen also matches typographic hyphens and the minus sign, straight quotes also curly ones, and vice versa.
    ``fold``: a letter also matches itself with another accent, or none; ñ is a letter of its own.
    """

    def __init__(self, text: str, *, case: GrepCase, fold: bool) -> None:
        self._insensitive = case is GrepCase.INSENSITIVE or (case is GrepCase.SMART and not any(map(str.isupper, text)))
        letters = _without_accents(text) if fold else list(unicodedata.normalize("NFC", text))
        plain, with_bytes = [], []
        for letter in letters:
            alone, or_bytes = self._forms(letter, fold=fold)
            plain.append(alone)
            with_bytes.append(or_bytes)
        self.pattern = f"(?{'' if self._insensitive else '-'}i:{''.join(with_bytes)})"
        self._regex = re.compile("".join(plain), re.IGNORECASE if self._insensitive else 0)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return the first places of the term in a line, without overlaps."""
        return [match.span() for match in islice(self._regex.finditer(line), MAX_MARKS)]

    def stands_in(self, text: str) -> bool:
        return self._regex.search(text) is not None

    def _forms(self, letter: str, *, fold: bool) -> tuple[str, str]:
        """Return the expressions for a letter: its forms in Unicode, and those or its bytes in Windows-1252."""
        accented = _ACCENTED.get(letter, "") if fold else ""
        signs = _SIGNS.get(letter, "")
        if signs:
            alone = f"[{signs}]"
        elif accented:
            alone = f"[{letter}{accented}][{_NO_TILDE if letter in 'nN' else _COMBINING}]*"
        elif letter.isascii():
            escaped = f"\\{letter}" if letter in _SPECIAL else letter
            return escaped, escaped
        else:
            decomposed = unicodedata.normalize("NFD", letter)
            alone = letter if decomposed == letter else f"(?:{letter}|{decomposed})"
        forms = signs or accented or letter
        if self._insensitive:
            forms += forms.swapcase()
        # ß has no capital of one letter: letters without a byte are omitted
        single = {form.encode("cp1252", "ignore") for form in forms}
        listed = "".join(f"\\x{byte[0]:02X}" for byte in sorted(single) if len(byte) == 1 and byte[0] > 0x7F)
        return alone, f"(?:{alone}|(?-u:[{listed}]))" if listed else alone


def _without_accents(text: str) -> list[str]:
    """Return the letters of a text; foldable ones without their accents, others (ñ) in NFC."""
    letters: list[str] = []
    for letter in unicodedata.normalize("NFC", text):
        base = unicodedata.normalize("NFD", letter)[0]
        if base in _ACCENTED and letter not in "ñÑ":
            letters.append(base)
        elif not (unicodedata.combining(letter) and letters and letters[-1] in _ACCENTED):
            letters.append(letter)
    return letters


class Terms:
    """The literal terms of a search."""

    def __init__(self, search: LineSearch) -> None:
        self._terms = [Term(text, case=search.case, fold=search.fold_accents) for text in search.terms]

    @property
    def patterns(self) -> list[str]:
        """The expressions for ripgrep. Each consumes the rest of the line: ripgrep would report every match in it."""
        return [f"{term.pattern}(?-u:.)*" for term in self._terms]

    def __len__(self) -> int:
        return len(self._terms)

    def substitute(self, text: str, numbers: Iterable[int]) -> bool:
        """Return whether any of the terms with these numbers occurs in a text."""
        return any(self._terms[number].stands_in(text) for number in numbers)

    def marks(self, line: str, number: int) -> list[Mark]:
        """Return the marks in a line, by position. Marks of two terms may overlap, marks of one do not."""
        marks = [
            Mark(number, start, end, index) for index, term in enumerate(self._terms) for start, end in term.spans(line)
        ]
        return sorted(marks)


def without_line_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def submatch_marks(line: bytes, submatches: Sequence[tuple[int, int]], number: int, *, encoding: str) -> list[Mark]:
    """Return the marks of a line from the byte ranges that ripgrep reports. Empty matches have none."""
    end_of_line = len(without_line_end(line.decode(encoding, "replace")))
    marks, byte, character = [], 0, 0
    for start, end in submatches:
        # a match may begin or end inside a character
        first = character + len(line[byte:start].decode(encoding, "replace"))
        last = first + len(line[start:end].decode(encoding, "replace"))
        byte, character = end, last
        if first < min(last, end_of_line):
            marks.append(Mark(number, first, min(last, end_of_line), 0))
    return marks


class Selection:
    """Selects files below a root by their relative path. Never hidden ones.

    ``globs`` are patterns of gitignore. A file is selected if a positive one matches it, or there is none, and no
    pattern with ``!`` does; their order does not matter. Raises InvalidInputError.
    """

    def __init__(self, globs: tuple[str, ...]) -> None:
        self._wanted = [glob.removeprefix("./") for glob in globs if not glob.startswith("!")]
        self._unwanted = [glob[1:].removeprefix("./") for glob in globs if glob.startswith("!")]
        self._include = _compiled(self._wanted)
        self._exclude = _compiled(self._unwanted)

    def __contains__(self, relative: str) -> bool:
        if relative.startswith(".") or "/." in relative:
            return False
        names = relative.split("/")
        included = not self._include or any(glob.covers(names) for glob in self._include)
        return included and not any(glob.covers(names) for glob in self._exclude)

    def rules(self) -> str:
        """Return rules by which ripgrep skips files that are not selected. Rules of .gitignore override them."""
        lines = []
        if self._wanted and all(map(is_light, self._wanted)):
            lines += ["*", "!*/", *(f"!{line}" for glob in self._wanted for line in _itself_and_below(glob))]
        lines += map(plain_braces, filter(is_light, self._unwanted))
        if lines:
            lines.append(".*")
        return "".join(f"{line}\n" for line in lines)


def _compiled(globs: list[str]) -> list[Glob]:
    try:
        compiled = [Glob(glob) for glob in globs]
    except ValueError:
        compiled = []
    if len(compiled) != len(globs) or any(glob.negated for glob in compiled):
        raise InvalidInputError(
            "globs holds what is no pattern.",
            field="globs",
            remedy="Write patterns as in .gitignore: *.md, docs/, src/**/*.py, !vendor/.",
        )
    return compiled


def _itself_and_below(glob: str) -> list[str]:
    glob = plain_braces(glob)
    name = glob.rstrip("/")
    below = f"{name}/**" if "/" in name else f"**/{name}/**"
    return [below] if glob.endswith("/") else [glob, below]
