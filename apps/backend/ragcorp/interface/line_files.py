"""Reads the lines of a file one at a time, whatever their length."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ragcorp.application.validation.json_lines import MAX_LINE_BYTES
from ragcorp.domain.exceptions import InvalidInputError, MissingFileError


@contextmanager
def opened_lines(path: Path) -> Iterator[BinaryIO]:
    """Open a file for ``lines_of``. Raises MissingFileError or InvalidInputError."""
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        raise MissingFileError("There is no such file.", field="FILE", remedy="Check the path.") from None
    except OSError as error:
        raise InvalidInputError(
            f"The file cannot be read: {error.strerror or type(error).__name__}.",
            field="FILE",
            remedy="Name a file of JSON lines that you may read.",
        ) from error
    with stream:
        yield stream


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """Yield each line; of a longer one only the first MAX_LINE_BYTES + 1 bytes."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        yield line
        while line and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES + 1)


@contextmanager
def opened_or_given(lines: Iterable[bytes] | str | Path) -> Iterator[Iterable[bytes]]:
    """Yield the lines of a file by its path, or the lines themselves. Raises as ``opened_lines``."""
    if isinstance(lines, str | Path):
        with opened_lines(Path(lines)) as stream:
            yield lines_of(stream)
    else:
        yield lines
