"""Parses JSON that every parser reads alike: no duplicate names, no NaN, no endless numbers. Pure.

Parsers differ on duplicate names (the first or the last wins) and on NaN: what one layer checks, another could miss.

>>> parse('{"año": [1, 2.5, null]}')
{'año': [1, 2.5, None]}
"""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

MAX_DIGITS = 4300
"""Digits of a whole number: Python reads no longer ones."""


class DuplicateNameError(ValueError):
    """An object names a member twice."""


class LongNumberError(ValueError):
    """A whole number has more than ``MAX_DIGITS`` digits."""


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text or UTF-8 bytes. Raises DuplicateNameError, LongNumberError or ValueError."""
    try:
        return json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text,
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse,
            parse_int=_whole_number,
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise DuplicateNameError("a name twice")
    return members


def _whole_number(digits: str) -> int:
    if len(digits.removeprefix("-")) > MAX_DIGITS:
        raise LongNumberError("a number that is too long")
    return int(digits)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
