"""The places of files on this machine, as documents and ingested folders may know them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ragcorp.domain.ports.file_search import HostPlace
from ragcorp.infrastructure.files.roots import Root


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
    return tuple((folder_key(each), len(_text(str(each)).rstrip("/")) + 1) for each in (path, *path.parents))


def _text(path: str) -> str:
    """Return a path as text, with a replacement character for invalid bytes; a "/" is never replaced."""
    return os.fsencode(path).decode("utf-8", "replace")
