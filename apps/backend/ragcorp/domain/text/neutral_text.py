"""Makes recalled text harmless inside a prompt: it cannot imitate a delimiter, a role or a line of the prompt.

Pure, in linear time. ``neutral`` is idempotent.
"""

import re
import unicodedata

from ragcorp.domain.text.look_alikes import Skeleton
from ragcorp.domain.text.plain_forms import LINE_ENDS, folded_angle, folded_delimiter, is_bracket, unmasked

ELLIPSIS = "…"
MAX_SPEAKER_CHARS = 60
MAX_READ_CHARS = 4000
"""Maximum that is read of a text, and shown in an item; a briefing shows far less."""

_SPEECH = re.compile(r".{0,80}?\bsaid\b[\W_]{0,20}[:']")
_WORD = re.compile(r"\w+")

_BREAKS = re.compile(f"[{LINE_ENDS}]+")
_LINES = re.compile(f"([{LINE_ENDS}]+)")
_TILDES = re.compile("~{3,}")
_SPACES = re.compile(r"\s+")
_ANGLES = re.compile("[\u2039\u203a]")
_QUOTED_SLASH = re.compile(r"\u00ab(?=\s*/)")

# every run is bounded, or is where nothing else can match: a failure is never retried from each of its positions
_ROLE = re.compile(
    r"[\W_]*(?:(?:\d{1,4}|[a-z]|[ivx]{1,5})[.):/-][\W_]*){0,2}"
    r"((?:system|developer|user|assistant|tool|function|human|ai|instructions?|prompt"
    r"|sistema|desarrollador|usuario|usuaria|asistente|assistente|humano|herramienta|instruccion(?:es)?"
    r"|instrucao|instrucoes)(?: (?:messages?|prompts?|mensaje|mensagem|said))?)\b"
)
_COLON = re.compile(r"[\W_]*:[:\s]*")
_REMARK_AND_COLON = re.compile(r"[\W_]{0,20}\([^()]{0,60}\)[\W_]{0,20}:[:\s]*")

_CITATION_LIKE = re.compile(
    r"\[(?=[^\[\]]{0,80}0)(?:0|[^\w\[\]\u2020]|(?:and|und|y|e|et|a|to|o|or)(?![a-z])|\u2020[^\[\]]*)+\]"
    r"|\[ */? *(?:inst|sys|system|system_prompt|available_tools|tool_calls|tool_results?|user|assistant) *\]"
)
"""In the skeleton of brackets, 0 represents any number, and marks are spaces."""


def neutral(text: str) -> str:
    """Return ``text`` on one line, without control, bidi and zero-width characters, and without any delimiter.

    A tag becomes (tag), [1] becomes (1), a double quote a single one, and ``system:`` at the start of a line (system),
    in whatever letters it is written. Line ends and tabs become spaces.
    """
    skeleton = Skeleton()
    plain = _QUOTED_SLASH.sub("(", _untagged(_TILDES.sub("~", unmasked(text, folded_delimiter))))
    lines = (_without_role(_on_one_line(line), skeleton) for line in _BREAKS.split(plain))
    return _without_role(_on_one_line(" ".join(lines)), skeleton)


def neutral_lines(text: str) -> str:
    """Return ``text`` with its lines, brackets and quotes, but without what could imitate a part of a prompt.

    < and > become single guillemets; of what looks like a citation or like [INST] the brackets become round;
    ``Human:`` at the start of a line becomes (Human). All other characters stay: m² is not m2.
    """
    skeleton = Skeleton()
    parts = _LINES.split(_without_citations(unmasked(text, folded_angle), skeleton))
    return "".join(
        part if number % 2 else _without_role(part, skeleton, whole=True) for number, part in enumerate(parts)
    )


def shortened(text: str, limit: int) -> str:
    """Return ``text`` cut to ``limit`` characters with an ellipsis, between words or, in a long word, graphemes."""
    if len(text) <= limit:
        return text
    end = max(limit - len(ELLIPSIS), 0)
    if not text[end].isspace():
        space = max(text.rfind(" ", 0, end), text.rfind("\t", 0, end))
        end = space if space >= limit // 2 else _between_characters(text, end)
    return (text[:end].rstrip() + ELLIPSIS)[:limit]


def neutral_name(speaker: str) -> str:
    """Return a speaker's name for use before a quote, at most MAX_SPEAKER_CHARS; it cannot contain a quote itself."""
    name = neutral_field(speaker)
    return shortened(" ".join(_WORD.findall(name)) if names_a_speaker(name) else name, MAX_SPEAKER_CHARS)


def neutral_field(text: str) -> str:
    return shortened(neutral(shortened(text, MAX_READ_CHARS)), MAX_READ_CHARS)


def names_a_speaker(text: str) -> bool:
    """Return whether a text begins as "Rajesh said:" does, in whatever letters."""
    return _SPEECH.match(Skeleton().of(text)) is not None


def _on_one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def _untagged(text: str) -> str:
    """Return ``text`` with round brackets for tags, in one pass: inner tags are decided first."""
    characters = list(text)
    opened: list[int] = []
    for match in _ANGLES.finditer(text):
        place = match.start()
        if match[0] == "\u2039":
            opened.append(place)
            if _begins_with_slash(text, place + 1):
                characters[place] = "("
        elif opened:
            begin = opened.pop()
            if characters[begin] == "(" or (place > begin + 1 and not text[begin + 1].isspace()):
                characters[begin], characters[place] = "(", ")"
            else:
                opened.clear()
    return "".join(characters)


def _begins_with_slash(text: str, place: int) -> bool:
    while place < len(text) and (text[place].isspace() or unicodedata.category(text[place])[0] == "M"):
        place += 1
    return text.startswith("/", place)


def _without_role(line: str, skeleton: Skeleton, *, whole: bool = False) -> str:
    """Return a line whose role is in brackets, without its colon; what stands before it stays in a ``whole`` line."""
    seen = skeleton.of(line)
    role = _ROLE.match(seen)
    if role is None:
        return line
    end = role.end()
    while tail := _COLON.match(seen, end) or _REMARK_AND_COLON.match(seen, end):
        end = tail.end()
    if end == role.end():
        return line
    begin, word, after = (skeleton.place(line, place) for place in (role.start(1), role.end(1), end))
    return f"{line[:begin] if whole else ''}({line[begin:word]}) {line[after:]}".rstrip(" ")


def _without_citations(text: str, skeleton: Skeleton) -> str:
    characters = list(text)
    for match in _CITATION_LIKE.finditer(text.translate(_BracketSkeleton(skeleton))):
        characters[match.start()], characters[match.end() - 1] = "(", ")"
    return "".join(characters)


class _BracketSkeleton(dict[int, str]):
    """For ``str.translate``, one character for each: square brackets, 0 for numbers, a space for marks."""

    def __init__(self, skeleton: Skeleton) -> None:
        super().__init__()
        self._skeleton = skeleton

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = self._skeleton[code]
        if is_bracket(character):
            plain = "[" if folded_delimiter(character) == "(" else "]"
        elif unicodedata.numeric(character, None) is not None or any(map(str.isdigit, plain)):
            plain = "0"
        elif character.isspace() or unicodedata.category(character)[0] == "M":
            plain = " "
        self[code] = plain = plain if len(plain) == 1 else character
        return plain


def _between_characters(text: str, end: int) -> int:
    """Return the last position up to ``end`` that does not separate a character from its marks."""
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
