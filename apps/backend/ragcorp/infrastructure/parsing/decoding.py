"""Decodes bytes of unknown encoding and cleans text."""

import codecs
import re
import unicodedata
from typing import NamedTuple

from charset_normalizer import from_bytes

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.parsing.western import best_fit

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Order matters: the mark of UTF-32-LE starts with that of UTF-16-LE."""

_CHARSET = re.compile(r"iso8859|cp\d|koi8|utf-(8|16|32)|gb|big5|euc|shift_jis|mac-")
"""Codecs that a file may declare; Python has others that are slow or not charsets."""

_SAMPLE_BYTES = 64_000
_SOUND_PER_DAMAGED = 20
_ASCII = bytes(range(0x80))
_MIN_WESTERN_SHARE = 0.5
_SURELY_WESTERN_SHARE = 0.95
_MAX_ACCENTED_SHARE = 0.25
_FEW_ACCENTS = 16
_MAX_CONTROL_SHARE = 0.02
_MAX_CONTROLS = 8

_CONTROLS = {code: None for code in (*range(0x20), 0x7F) if chr(code) not in "\n\t"}
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_CLEANED = {**_CONTROLS, **_INVISIBLE, 0x00: " ", 0x0B: " ", 0x0C: " "}
_UNCLEAN = re.compile("[" + "".join(map(re.escape, map(chr, _CLEANED))) + "]")
_SUSPECT = bytes((*range(0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F))
_NOT_LEADING = bytes(range(0xC0))
_BLOCK = 1 << 20
"""Bytes or characters per step; other threads wait during one."""


class Decoded(NamedTuple):
    """A text and the Python codec that it was read with."""

    text: str
    encoding: str


def decode(data: bytes, *, declared: str | None = None) -> str:
    """Return the text of ``data``: by byte order mark, as UTF-8, as ``declared``, by detection, as Windows-1252.

    Raises UnreadableDocumentError for what is not text at all.
    """
    text = _decode(data, declared)
    _require_text(text)
    return text


def text_of(file: SourceFile, *, declared: str | None = None) -> str:
    """Return the text that the file carries, else that of its bytes. Raises UnreadableDocumentError."""
    if file.text is None:
        return decode(file.content, declared=declared)
    _require_text(file.text)
    return file.text


def decode_with_name(data: bytes) -> Decoded:
    """Return the unchanged text of a file and its encoding: by byte order mark, as UTF-8, by detection.

    Stricter than ``decode``: raises UnreadableDocumentError for a NUL, and UnicodeError if no encoding decodes the
    whole file. Single bad bytes of a UTF-8 text become U+FFFD.
    """
    decoded = _decode_strictly(data)
    if "\0" in decoded.text:
        raise _binary()
    _require_text(decoded.text)
    return decoded


def _decode_strictly(data: bytes) -> Decoded:
    for mark, marked in _MARKS:
        if data.startswith(mark):
            return Decoded(_text(data[len(mark) :], marked), marked)
    if unmarked := _unmarked_utf16(data):
        return Decoded(_text(data, unmarked), unmarked)
    if b"\0" in data:
        raise _binary()
    try:
        return Decoded(_text(data, "utf-8"), "utf-8")
    except UnicodeDecodeError:
        _require_text(_text(data, "latin-1"))
        if (damaged := _damaged_utf8(data)) is not None:
            return Decoded(damaged, "utf-8")
        if (encoding := _detected(data)) is None:
            raise
        return Decoded(_text(data, encoding), encoding)


def _text(data: bytes, encoding: str, *, errors: str = "strict") -> str:
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    pieces = [decoder.decode(data[start : start + _BLOCK]) for start in range(0, len(data), _BLOCK)]
    return "".join([*pieces, decoder.decode(b"", final=True)])


def _damaged_utf8(data: bytes) -> str | None:
    """Return the text if nearly all non-ASCII bytes are valid UTF-8, which no other encoding resembles."""
    text = _text(data, "utf-8", errors="replace")
    damaged = text.count("\ufffd")
    sound = _count(text, _NOT_LEADING, among=False) - damaged
    return text if sound >= _SOUND_PER_DAMAGED * damaged else None


def _require_text(text: str) -> None:
    if _count(text, _SUSPECT) > max(_MAX_CONTROLS, _MAX_CONTROL_SHARE * len(text)):
        raise _binary()


def _count(text: str, octets: bytes, *, among: bool = True) -> int:
    """Count the UTF-8 bytes of a text that are among ``octets``, or are not."""
    left = length = 0
    for start in range(0, len(text), _BLOCK):
        block = text[start : start + _BLOCK].encode("utf-8", "surrogatepass")
        length += len(block)
        left += len(block.translate(None, octets))
    return length - left if among else left


def _binary() -> UnreadableDocumentError:
    return UnreadableDocumentError(
        "The file holds binary data, not text.",
        field="content",
        remedy="Check that the file name has the suffix of its real kind.",
    )


def _decode(data: bytes, declared: str | None) -> str:
    for mark, marked in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(marked, errors="replace")
    unmarked = _unmarked_utf16(data)
    for encoding in (None if unmarked else "utf-8", _known(declared), unmarked):
        if encoding:
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                continue
    if (mixed := _mixed(data)) is not None:
        return mixed
    return data.decode(_detected(data) or "cp1252", errors="replace")


def _mixed(data: bytes) -> str | None:
    """Return the text of a file in which some lines are UTF-8 and others are not."""
    lines = [(line, _as_utf8(line)) for line in data.split(b"\n")]
    others = b"\n".join(line for line, text in lines if text is None)
    sound = sum(1 for _, text in lines if text is not None and not text.isascii())
    if not sound or sound < sum(1 for _, text in lines if text is None):
        return None
    encoding = _detected(others) or "cp1252"
    return "\n".join(line.decode(encoding, errors="replace") if text is None else text for line, text in lines)


def _as_utf8(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def _known(declared: str | None) -> str | None:
    """Return the codec of a declared charset. Latin-1 means Windows-1252, as in browsers."""
    try:
        name = codecs.lookup(declared or "").name
    except (LookupError, ValueError):
        return None
    if name in ("iso8859-1", "ascii"):
        return "cp1252"
    return name if _CHARSET.match(name) else None


def _unmarked_utf16(data: bytes) -> str | None:
    """Western text in UTF-16 has a zero in nearly every other byte."""
    sample = data[:_SAMPLE_BYTES]
    half = len(sample) // 2
    if not half or len(data) % 2:
        return None
    if sample[1::2].count(0) > 0.6 * half:
        return "utf-16-le"
    return "utf-16-be" if sample[0::2].count(0) > 0.6 * half else None


def _detected(data: bytes) -> str | None:
    """Prefer an encoding of Western European text, unless so many or such odd letters speak for another script."""
    sample = data[:_SAMPLE_BYTES]
    accented = len(sample.translate(None, _ASCII))
    western = best_fit(sample)
    mostly_ascii = accented <= _MAX_ACCENTED_SHARE * len(sample)
    few = accented <= _FEW_ACCENTS
    if (mostly_ascii and (few or western.share >= _MIN_WESTERN_SHARE)) or (
        few and western.share >= _SURELY_WESTERN_SHARE
    ):
        return western.encoding
    best = from_bytes(sample).best()
    return best.encoding if best else None


def clean(text: str) -> str:
    r"""Return ``text`` in NFC with ``\n`` line ends, without control characters and invisible marks.

    Also removes soft hyphens and zero-width spaces, which would split words in the full-text index. NUL, vertical tab
    and form feed become spaces: words and line numbers stay.
    """
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    if _UNCLEAN.search(unified):  # the search takes a tenth of the time
        unified = unified.translate(_CLEANED)
    return unicodedata.normalize("NFC", unified)
