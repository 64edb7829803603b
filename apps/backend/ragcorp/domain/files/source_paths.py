"""The path and title in a passage's citation: real ones, never a loader's generic name."""

import re
from collections.abc import Mapping

from ragcorp.domain.files.values import MAX_PATH
from ragcorp.domain.text.checks import is_blank

PATH_KEYS = ("path", "file_path")
"""Metadata keys in which loaders store the real path, the preferred one first."""

_BREAKS = re.compile("[\t\n\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029]+")
_UNSHOWN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters, including bidirectional ones, and characters without a glyph; letter joiners stay."""

_GENERIC = re.compile(r"\s*local[\s_-]*files?(?:[\s_-]*\d+|[:#].*)?\s*", re.IGNORECASE | re.DOTALL)


def is_generic(name: str) -> bool:
    """Return whether a name is a loader's generic one, such as ``local_file``."""
    return _GENERIC.fullmatch(name) is not None


def on_one_line(text: str) -> str:
    """Return the text with line ends and tabs as spaces, without characters that nobody sees."""
    # what is removed here is not printable, and looking for it takes ten times as long as asking
    return text if text.isprintable() else _UNSHOWN.sub("", _BREAKS.sub(" ", text))


def shown_path(value: object) -> str | None:
    """Return a path on one line without control characters; None if blank, too long, generic or not a string."""
    if not isinstance(value, str) or len(value) > MAX_PATH:
        return None
    path = on_one_line(value)
    return None if is_blank(path) or is_generic(path) else path


def metadata_path(metadata: Mapping[str, object]) -> str | None:
    """Return the real path in the metadata, if any."""
    return next((path for key in PATH_KEYS if (path := shown_path(metadata.get(key)))), None)


def metadata_of_part(metadata: Mapping[str, object], name: str) -> dict[str, object]:
    """Return the metadata for a file inside a file: its name is added to the paths."""
    return {
        key: f"{value}/{name}" if key in PATH_KEYS and shown_path(value) else value for key, value in metadata.items()
    }


def document_path(*, path: str | None, external_id: str, metadata: Mapping[str, object], title: str) -> str | None:
    """Return the path to cite: the document's own, the metadata's, the external_id or the title; or None."""
    own = None if path == external_id else shown_path(path)
    return own or metadata_path(metadata) or shown_path(external_id) or shown_path(title)


def shown_title(title: str, *, path: str | None) -> str:
    """Return the title to show: the file's name in place of a generic title, "" without a path."""
    if not is_generic(title):
        return title
    return "" if path is None else path.rstrip("/").rpartition("/")[2]
