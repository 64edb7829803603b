"""Removes disguises from text: entities, compatibility forms and look-alikes of delimiters, invisible characters.

Pure. Two foldings: one for a line among lines of a prompt, one for text whose brackets and quotes must stay readable.
"""

import html
import re
import unicodedata
from collections.abc import Callable

Folding = Callable[[str], str]
"""From a character to the plain one that it looks like."""

MAX_UNMASKINGS = 8
"""Entities inside entities are decoded so often; what is left then loses its ampersands."""

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_KEPT = frozenset(LINE_ENDS + "\t")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co"})
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Characters without a glyph that Unicode does not count among the formats."""
_VARIATION = re.compile("[\u180b-\u180f\ufe00-\ufe0e\U000e0100-\U000e01ef]")

_ENTITY = re.compile(r"&(?:#[0-9]{1,9}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});?")
_READ_WITHOUT_END = re.compile("&(?:lt|gt|quot|amp)", re.IGNORECASE)

_LESS = (
    "<\u2329\u3008\u27e8\u276c\u276e\u2770\u27ea\u300a\u02c2\u1438\u16b2\u227a\u29fc\u2991\u2039\u226a\u22d8\u22d6"
    "\u2aa1\u2af7\u2a79\u2abb\U0001d236"
)
_GREATER = (
    ">\u232a\u3009\u27e9\u276d\u276f\u2771\u27eb\u300b\u02c3\u1433\u227b\u29fd\u2992\u203a\u226b\u22d9\u22d7\u2aa2"
    "\u2af8\u2a7a\u2abc\U0001d237\U00016f3f"
)
_QUOTES = (
    '"\u201c\u201d\u201e\u201f\u2033\u2036\u301d\u301e\u301f\u3003\u02dd\u02ba\u02ee\u05f4\u275d\u275e\u2760'
    "\U0001f676\U0001f677\U0001f678"
)
_TICKS = "`\u02cb"
_COLONS = ":\ua789\u2236"
_NOT_BRACKETS = frozenset("(){}\u201a")
_FORMS = {
    **dict.fromkeys(_LESS, "\u2039"),
    **dict.fromkeys(_GREATER, "\u203a"),
    **dict.fromkeys(_QUOTES + _TICKS, "'"),
    **dict.fromkeys(_COLONS, ":"),
    **{character: character for character in "&#;/~"},
}
"""Square brackets would cite, link or mark an instruction; quotes would end a quotation; ticks open a block of code."""


def folded_delimiter(character: str) -> str:
    """Return the plain form of a delimiter: single guillemets, round brackets, single quotes; others stay."""
    compatible = unicodedata.normalize("NFKC", character)
    if compatible in _FORMS:
        return _FORMS[compatible]
    category = unicodedata.category(character)
    if category not in ("Ps", "Pe") or compatible in _NOT_BRACKETS:
        return character
    if "ANGLE BRACKET" in unicodedata.name(character, ""):
        return "\u2039" if category == "Ps" else "\u203a"
    return "(" if category == "Ps" else ")"


def folded_angle(character: str) -> str:
    """Return the guillemet for an angle, and what could hide an entity, plain; other delimiters stay."""
    plain = folded_delimiter(character)
    return plain if plain in "\u2039\u203a&#;" else character


def is_bracket(character: str) -> bool:
    """Return whether a character is a square bracket or passes for one."""
    return character != (plain := folded_delimiter(character)) and plain in "()"


def unmasked(text: str, folding: Folding) -> str:
    """Return ``text`` folded, with entities decoded, without invisible characters except line ends and tabs."""
    table = _Plain(folding)
    for _ in range(MAX_UNMASKINGS):
        plain = text.translate(table)
        text = _ENTITY.sub(_decoded, plain)
        if text == plain:
            return plain
    # a chain of entities has no end that matters
    return text.translate(table).replace("&", "")


def _decoded(match: re.Match[str]) -> str:
    """Decode an entity; one without its semicolon only if it hides something: ?a=1&copy=2 is an address."""
    decoded = html.unescape(match[0])
    if match[0].endswith(";") or match[0].startswith("&#") or _READ_WITHOUT_END.match(match[0]):
        return decoded
    return decoded if any(map(_hides, decoded)) else match[0]


def _hides(character: str) -> bool:
    plain = folded_delimiter(character)
    return plain != character or plain in _FORMS or character in _BLANK or unicodedata.category(character)[0] in "CZ"


class _Plain(dict[int, str | None]):
    """For ``str.translate``. A table a text: one for all would grow with all that is ever sent."""

    def __init__(self, folding: Folding) -> None:
        super().__init__()
        self._folding = folding

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        plain: str | None = self._folding(character)
        if character not in _KEPT and (
            character in _BLANK or _VARIATION.match(character) or unicodedata.category(character) in _INVISIBLE
        ):
            plain = None
        self[code] = plain
        return plain
