"""Makes recalled text harmless inside a prompt: nothing of it can pass for a delimiter, a role or a line of ours.

Pure. Every function is idempotent. Disguises are taken off first: entities, full-width and look-alike forms, invisible
characters in between.
"""

from __future__ import annotations

import html
import re
import unicodedata

ELLIPSIS = "…"

MAX_UNMASKINGS = 8
"""Entities inside entities are decoded so often; what is left then loses its ampersands."""

_LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_BREAKS = re.compile(f"[{_LINE_ENDS}]+")
_KEPT = frozenset(_LINE_ENDS + "\t")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co"})
_ENTITY = re.compile(r"&(?:#[0-9]{1,9}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});?")
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
"""Characters without a glyph that Unicode does not count among the formats."""
_VARIATION = re.compile("[\ufe00-\ufe0e\U000e0100-\U000e01ef]")

_LESS = "\uff1c\ufe64\u2329\u3008\u27e8\u276c\u276e\u2770\u27ea\u300a\u02c2\u1438\u227a\u29fc\u2991\u2039<"
_GREATER = "\uff1e\ufe65\u232a\u3009\u27e9\u276d\u276f\u2771\u27eb\u300b\u02c3\u1433\u227b\u29fd\u2992\u203a>"
_OPENING = "[\uff3b\u3010\u3014\u3016\u3018\u301a\u27e6\u27ec\u2772\u2045\u298b\uff62"
_CLOSING = "]\uff3d\u3011\u3015\u3017\u3019\u301b\u27e7\u27ed\u2773\u2046\u298c\uff63"
_QUOTES = '"\u201c\u201d\u201e\u201f\u2033\u2036\uff02\u301d\u301e\u301f\u02dd\u02ba\u05f4\u275d\u275e'
_TICKS = "`\uff40\u02cb"
_COLONS = "\uff1a\ufe55\ua789\u2236"
_FORMS = {
    **dict.fromkeys(_LESS, "\u2039"),
    **dict.fromkeys(_GREATER, "\u203a"),
    **dict.fromkeys(_OPENING, "("),
    **dict.fromkeys(_CLOSING, ")"),
    **dict.fromkeys(_QUOTES + _TICKS, "'"),
    **dict.fromkeys(_COLONS, ":"),
    "\uff06": "&",
    "\ufe60": "&",
    "\uff03": "#",
    "\uff1b": ";",
}
"""Square brackets would cite, link or mark an instruction; quotes would end a quotation; ticks open a block of code."""

_DECODED = frozenset(_LESS + _GREATER + _OPENING + _CLOSING + _QUOTES + _TICKS + _COLONS + "&#;\n\r\t:")
_TAG = re.compile("\u2039((?:\\s*/|[^\u2039\u203a\\s])[^\u2039\u203a]{0,200})\u203a")
_TILDES = re.compile("~{3,}")
_ROLE = re.compile(
    r"^[\W_]*(system|developer|user|assistant|tool|function|human|ai|instructions?|prompt"
    r"|sistema|desarrollador|usuario|usuária|usuário|asistente|assistente|humano|herramienta|instrucci[oó]n(?:es)?"
    r"|instruç(?:ão|ões))\b[\W_]*:[:\s]*",
    re.IGNORECASE,
)
_SPACES = re.compile(r"[^\S\t]+")


def neutral(text: str) -> str:
    """Return ``text`` on one line, without control, bidi and zero-width characters, and without any delimiter.

    A tag becomes (tag), [1] becomes (1), a double quote a single one, and ``system:`` at the start of a line (system).
    Tabs stay; line ends become spaces.
    """
    plain = _TILDES.sub("~", _unmasked(text))
    while (untagged := _TAG.sub(r"(\1)", plain)) != plain:
        plain = untagged
    plain = "\n".join(_without_role(line) for line in _BREAKS.split(plain))
    return _SPACES.sub(" ", plain).strip()


def shortened(text: str, limit: int) -> str:
    """Return ``text``, cut to ``limit`` characters with an ellipsis among them if it is longer.

    It is cut between words, or between characters as readers see them where a word is longer than half of the limit.
    """
    if len(text) <= limit:
        return text
    end = max(limit - len(ELLIPSIS), 0)
    if not text[end].isspace():
        space = max(text.rfind(" ", 0, end), text.rfind("\t", 0, end))
        end = space if space >= limit // 2 else _between_characters(text, end)
    return (text[:end].rstrip() + ELLIPSIS)[:limit]


def _unmasked(text: str) -> str:
    for _ in range(MAX_UNMASKINGS):
        plain = text.translate(_Plain())
        text = _ENTITY.sub(_decoded, plain)
        if text == plain:
            return plain
    # a chain of entities has no end that matters
    return text.translate(_Plain()).replace("&", "")


def _decoded(found: re.Match[str]) -> str:
    """Return what an entity stands for, where that is invisible, a line end or part of a delimiter."""
    decoded = html.unescape(found[0])
    if decoded == found[0]:
        return decoded
    harmful = any(
        character in _DECODED or character in _BLANK or unicodedata.category(character)[0] in "CZ"
        for character in decoded
    )
    return decoded if harmful else found[0]


class _Plain(dict[int, str | None]):
    """For ``str.translate``: plain forms; control characters (line ends and tabs stay) and what shows nothing fall out.

    A table a text: one for all would grow with all that is ever sent.
    """

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        plain: str | None = _FORMS.get(character, character)
        if character not in _KEPT and (
            character in _BLANK or _VARIATION.match(character) or unicodedata.category(character) in _INVISIBLE
        ):
            plain = None
        self[code] = plain
        return plain


def _without_role(line: str) -> str:
    while (without := _ROLE.sub(lambda found: f"({found[1]}) ", line)) != line:
        line = without
    return line


def _between_characters(text: str, end: int) -> int:
    """Return the last place up to ``end`` where no character is cut apart from its marks."""
    while end > 0 and _extends(text[end]):
        end -= 1
    flags = 0
    while end - flags > 0 and _is_flag(text[end - flags - 1]):
        flags += 1
    return end - 1 if flags % 2 and _is_flag(text[end]) else end


def _extends(character: str) -> bool:
    is_skin = "\U0001f3fb" <= character <= "\U0001f3ff"
    is_syllable_part = "\u1160" <= character <= "\u11ff"
    return is_skin or is_syllable_part or unicodedata.category(character)[0] == "M"


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
