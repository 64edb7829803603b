"""The folders whose files may be read: ALLOWED_PATHS, checked once at the start."""

import hashlib
import os
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.ports.file_search import HostPlace

MAX_ROOT_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder below which files may be read. ``path`` is absolute and was resolved without links.

    ``name``, in NFC, replaces it in every path that leaves the service.
    """

    name: str
    path: Path


def parse_roots(text: str) -> tuple[Root, ...]:
    """Return the roots that ``[name=]dir[:[name=]dir...]`` lists, in its order; none for an empty text.

    The name defaults to the folder's own. ``~`` is the home folder, a relative folder is below the working one, and a
    root that is a link is the folder that it leads to now. A path that contains ``:`` cannot be listed: name a link to
    it. No root is inside another, so that a file has one name of the form ``root/relative``.

    Raises ConfigurationError with the number of the entry, never its text.
    """
    if not text.strip():
        return ()
    roots = tuple(_parse(entry.strip(), number) for number, entry in enumerate(text.split(":"), start=1))
    _require_apart(roots)
    return roots


def _parse(entry: str, number: int) -> Root:
    name, separator, folder = entry.partition("=")
    if not separator:
        name, folder = "", entry
    if not folder:
        raise _refused(number, "names no folder.", "List folders as [name=]dir, parted by single colons.")
    path = _resolved(folder, number)
    return Root(name=_checked_name(name if separator else path.name, number), path=path)


def _resolved(folder: str, number: int) -> Path:
    try:
        path = Path(os.path.realpath(Path(folder).expanduser(), strict=True))
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError, RuntimeError):
        raise _refused(
            number,
            "names a folder that does not exist or cannot be reached.",
            "Create it or correct the entry; a colon parts folders and cannot stand in a path.",
        ) from None
    if not is_folder:
        raise _refused(number, "names a file.", "Name the folder that holds it.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise _refused(number, "names a folder that this user may not read.", "Change its permissions, or drop it.")
    return path


def _checked_name(name: str, number: int) -> str:
    name = unicodedata.normalize("NFC", name)
    if not name:
        raise _refused(number, "has an empty name.", "Give it one: name=dir.")
    if len(name) > MAX_ROOT_NAME or "/" in name or name in {".", ".."} or not name.isprintable():
        raise _refused(
            number,
            f"has a name that is longer than {MAX_ROOT_NAME} characters, is '..', or holds '/' or a control character.",
            "Give it a plain one: name=dir.",
        )
    return name


def _require_apart(roots: Sequence[Root]) -> None:
    for number, root in enumerate(roots, start=1):
        for other_number, other in enumerate(roots[: number - 1], start=1):
            if root.name == other.name:
                raise _refused(
                    number, f"has the name of entry {other_number}.", "Give one of them another name: name=dir."
                )
            if root.path.is_relative_to(other.path) or other.path.is_relative_to(root.path):
                raise _refused(
                    number,
                    f"and entry {other_number} are one folder, or one lies inside the other.",
                    "Leave out the inner one: its files are among those of the outer one.",
                )


def _refused(number: int, message: str, remedy: str) -> ConfigurationError:
    return ConfigurationError(f"Entry {number} of ALLOWED_PATHS {message}", field="ALLOWED_PATHS", remedy=remedy)


def folder_key(folder: Path) -> bytes:
    """Return the key of a folder in storage, derived from its real path."""
    return hashlib.sha256(os.fsencode(folder)).digest()


def place_of(roots: Sequence[Root], path: str) -> HostPlace | None:
    """Return the place of ``root/relative``; None if there is no such root."""
    name, _, relative = path.partition("/")
    root = next((root for root in roots if root.name == name), None)
    if root is None or not relative:
        return None
    file = f"{str(root.path).rstrip('/')}/{relative}"
    return HostPlace(path=_text(file), folders=_folders(file.rpartition("/")[0] or "/"))


@lru_cache(maxsize=4096)
def _folders(folder: str) -> tuple[tuple[bytes, int], ...]:
    """Return the folder and those above it, each with the length of the path prefix before its contents."""
    path = Path(folder)
    return tuple((folder_key(above), len(_text(str(above)).rstrip("/")) + 1) for above in (path, *path.parents))


def _text(path: str) -> str:
    """Return a path as text, with a replacement character for invalid bytes; a "/" is never replaced."""
    return os.fsencode(path).decode("utf-8", "replace")
