"""Lines of text files, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ragcorp.domain.exceptions import InvalidInputError, MissingFileError


def bad_line(name: str, number: int, problem: str, expected: str) -> InvalidInputError:
    """Return the error for a line of a file that is not what it should be."""
    return InvalidInputError(
        f"{name}, line {number} {problem}.", field=f"{name}:{number}", limit=expected, remedy="Correct the line."
    )


def numbered_lines(folder: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file that are not blank, with their numbers from 1.

    Raises MissingFileError or InvalidInputError.
    """
    number = 0
    try:
        # newline="\n": a line of JSON may hold any other kind of line end
        with (folder / name).open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except FileNotFoundError:
        raise MissingFileError(f"The set has no {name}.", field="DIR", remedy=f"Add {name} to the folder.") from None
    except UnicodeDecodeError:
        raise bad_line(name, number + 1, "or one soon after is not UTF-8", "UTF-8") from None
    except OSError as error:
        raise InvalidInputError(f"{name} cannot be read.", field=name, remedy="Check its permissions.") from error
