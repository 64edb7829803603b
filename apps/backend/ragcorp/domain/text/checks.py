"""Checks of text that is stored, embedded or sent: NFC, without NUL and lone surrogates."""

import re
import unicodedata

from ragcorp.domain.exceptions import InvalidInputError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSHOWN = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_VISIBLE = re.compile("[^\\s\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\u00ad]")


def clean_text(text: str, *, field: str) -> str:
    """Return ``text`` in NFC, LF, without control characters. Raises InvalidInputError for a lone surrogate."""
    require_utf8(text, field=field)
    return _CONTROLS.sub("", unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n"))


def require_utf8(text: str, *, field: str) -> None:
    """Raise InvalidInputError for a lone surrogate, which no encoding can carry."""
    if _LONE_SURROGATE.search(text):
        raise InvalidInputError(
            f"{field} contains a lone surrogate, which is not valid Unicode.",
            field=field,
            remedy="Send the text as valid UTF-8.",
        )


def escaped(text: str) -> str:
    r"""Return text that every encoding supports: a byte of a file's name that is not UTF-8 becomes ``\xff``."""
    return _LONE_SURROGATE.sub(_escape, text)


def visible(text: str) -> str:
    r"""Return a name on one line that every encoding supports: a line end becomes ``\x0a``."""
    return _UNSHOWN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    byte = code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code
    return f"\\x{byte:02x}" if byte <= 0xFF else f"\\u{code:04x}"


def is_blank(text: str) -> bool:
    """Return whether a text has no visible characters: only white space, zero-width and bidi ones."""
    return _VISIBLE.search(text) is None


def require_storable(text: str, *, field: str) -> None:
    """Raise InvalidInputError for text that PostgreSQL cannot hold: NUL or a lone surrogate."""
    if "\x00" in text or _LONE_SURROGATE.search(text):
        raise InvalidInputError(
            f"{field} contains a character that cannot be stored (NUL or a lone surrogate).",
            field=field,
            remedy="Remove the character.",
        )


def require_length(text: str, *, field: str, limit: int, minimum: int = 0) -> None:
    """Raise InvalidInputError unless ``text`` has ``minimum`` to ``limit`` characters."""
    if not minimum <= len(text) <= limit:
        bounds = f"{minimum} to {limit:,}" if minimum else f"at most {limit:,}"
        raise InvalidInputError(
            f"{field} must have {bounds} characters.",
            field=field,
            limit=f"{limit} characters",
            remedy=f"Shorten {field}." if len(text) > limit else f"Give {field} a value.",
        )
