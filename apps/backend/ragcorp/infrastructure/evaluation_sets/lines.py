"""Lines of text files and their errors."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from ragcorp.domain.exceptions import InvalidInputError, MissingFileError


def bad_line(name: str, number: int, problem: str, expected: str) -> InvalidInputError:
    """Return the error of a bad line."""
    return InvalidInputError(
        f"{name}, line {number} {problem}.", field=f"{name}:{number}", limit=expected, remedy="Correct the line."
    )


def numbered_lines(folder: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines of a UTF-8 file, numbered from 1. Raises MissingFileError or InvalidInputError."""
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


def numbered_entries(folder: Path, name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield JSON objects, of unique ``_id``, with line numbers. Raises MissingFileError or InvalidInputError."""
    seen: dict[str, int] = {}
    for number, line in numbered_lines(folder, name):
        try:
            entry = json.loads(line)
        except ValueError:
            raise bad_line(name, number, "is no JSON", "one JSON object a line") from None
        if not isinstance(entry, dict):
            raise bad_line(name, number, "is no JSON object", "one JSON object a line")
        earlier = seen.setdefault(identity_of(entry, name, number), number)
        if earlier != number:
            raise bad_line(name, number, f"has the _id of line {earlier}", "each _id once")
        yield number, entry


def identity_of(entry: Mapping[str, object], name: str, number: int) -> str:
    identity = entry.get("_id")
    if isinstance(identity, bool) or not isinstance(identity, str | int) or identity == "":
        raise bad_line(name, number, "has no _id", "_id as a string")
    return str(identity)
