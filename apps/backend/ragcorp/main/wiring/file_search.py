"""Builds search and reading of files; needs no database."""

from pathlib import Path

from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.repository import LocalFileRepository
from ragcorp.infrastructure.files.ripgrep import Ripgrep, find_ripgrep
from ragcorp.infrastructure.files.roots import Root, parse_roots
from ragcorp.infrastructure.files.safe_open import Roots
from ragcorp.infrastructure.parsing.decoding import decode_with_name
from ragcorp.main.settings.schema import Settings


def make_repository(settings: Settings) -> LocalFileRepository:
    """Raises ConfigurationError for invalid roots, MissingExtraError for roots without ripgrep."""
    roots = Roots(
        parse_roots(settings.allowed_paths), excluded=(settings.data_dir,), hard_links=settings.files_hard_links
    )
    reader = FileReader(
        roots=roots,
        decode=decode_with_name,
        max_file_bytes=settings.max_file_bytes,
        max_read_bytes=settings.files_max_read_bytes,
    )
    binary = find_ripgrep()
    if binary is None and roots.entries:
        raise MissingExtraError(feature="Searching files (ALLOWED_PATHS)", extra="files")
    search = Ripgrep(roots=roots, binary=binary or Path("rg"), reader=reader, max_file_bytes=settings.max_file_bytes)
    return LocalFileRepository(roots=roots, reader=reader, search=search)


def logical_path(roots: tuple[Root, ...], path: Path) -> str | None:
    """Return ``root/relative`` of a file below a root, None for any other."""
    for root in roots:
        if path.is_relative_to(root.path):
            return f"{root.name}/{path.relative_to(root.path).as_posix()}"
    return None
