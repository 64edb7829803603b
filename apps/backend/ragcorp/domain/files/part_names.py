"""Names of the files inside a file: relative paths that are safe to show, and distinct."""

import re
import unicodedata
from collections.abc import Container, Iterable
from itertools import count
from pathlib import PurePosixPath

from ragcorp.domain.files.source_paths import on_one_line

MAX_PARTS = 1_000
"""Files inside an uploaded file that are read; the others are named as unread."""
MAX_PART_BYTES = 100 << 20
"""Of all of them."""

_DRIVE = re.compile(r"^[A-Za-z]:(?=[\\/])")
_MAX_SUFFIX = 10


def part_name(name: str) -> str:
    r"""Return a relative path without ``..``, drive and control characters; "" if nothing is left.

    >>> part_name("C:\\tmp\\..\\Informe\r\nfinal.pdf")
    'tmp/Informe final.pdf'
    """
    plain = unicodedata.normalize("NFC", on_one_line(_DRIVE.sub("", name))).replace("\\", "/")
    pieces = (piece.strip() for piece in plain.split("/"))
    return "/".join(piece for piece in pieces if piece not in ("", ".", ".."))


def distinct_names(names: Iterable[str], *, room: int) -> list[str]:
    """Return the names cut to ``room`` characters, and numbered from the second equal one on: ``a (2).pdf``."""
    fitted = [_with(name, "", room) for name in names]
    taken = set(fitted)
    used: set[str] = set()
    given: list[str] = []
    for name in fitted:
        chosen = numbered(name, taken, room=room) if name in used else name
        taken.add(chosen)
        used.add(chosen)
        given.append(chosen)
    return given


def numbered(name: str, taken: Container[str], *, room: int) -> str:
    """Return the name with the first number from 2 on that makes it another than those taken."""
    names = (_with(name, f" ({number})", room) for number in count(2))
    return next(other for other in names if other not in taken)


def _with(name: str, mark: str, room: int) -> str:
    """Return the name with a mark before its suffix, cut before both."""
    suffix = PurePosixPath(name).suffix
    suffix = suffix if len(suffix) <= _MAX_SUFFIX else ""
    stem = name.removesuffix(suffix)
    return stem[: room - len(mark) - len(suffix)] + mark + suffix
