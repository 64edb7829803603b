"""The path and title for citing a passage: real ones, never the generic name of a loader."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ragcorp.domain.files.values import MAX_PATH
from ragcorp.domain.text.checks import is_blank

PATH_KEYS = ("path", "file_path")
"""Metadata keys under which loaders keep the real path, the better one first."""

_BREAKS = re.compile("[\t\n\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029]+")
_UNSHOWN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls, those of direction among them, and characters without a glyph; joiners of letters stay."""

_GENERIC = re.compile(r"\s*local[\s_-]*files?(?:[\s_-]*\d+|[:#].*)?\s*", re.IGNORECASE | re.DOTALL)


def is_generic(name: str) -> bool:
    """Return whether a name is only a loader's generic one, like ``local_file``."""
    return _GENERIC.fullmatch(name) is not None


def shown_path(value: object) -> str | None:
    """Return a path for citation, on one line and without control characters.

    None for a value that names no file: no text, a blank or overlong one, or ``local_file``.
    """
    if not isinstance(value, str) or len(value) > MAX_PATH:
        return None
    path = _UNSHOWN.sub("", _BREAKS.sub(" ", value))
    return None if is_blank(path) or is_generic(path) else path


def metadata_path(metadata: Mapping[str, object]) -> str | None:
    """Return the real path that the metadata name, if any."""
    return next((path for key in PATH_KEYS if (path := shown_path(metadata.get(key)))), None)


def document_path(*, path: str | None, external_id: str, metadata: Mapping[str, object], title: str) -> str | None:
    """Return the path by which a document is cited; None if nothing names it.

    Its own path comes first, unless that was only taken from the external_id; then the metadata's, then the
    external_id, then the title.
    """
    own = None if path == external_id else shown_path(path)
    return own or metadata_path(metadata) or shown_path(external_id) or shown_path(title)


def shown_title(title: str, *, path: str | None) -> str:
    """Return a title as it may be shown: the name of the file in place of a generic one, "" without a path."""
    if not is_generic(title):
        return title
    return "" if path is None else path.rstrip("/").rpartition("/")[2]
