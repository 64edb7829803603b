"""Parses KEY=VALUE arguments."""

import json
import math
from collections.abc import Sequence

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import FILTER_FIELDS


def parse_pairs(pairs: Sequence[str], *, option: str) -> dict[str, object]:
    """Return the pairs as an object. A value may be JSON; a repeated key collects a list. Raises InvalidInputError."""
    values: dict[str, object] = {}
    for pair in pairs:
        key, separator, written = pair.partition("=")
        if not separator or not key.strip():
            raise InvalidInputError(
                f"{option} takes KEY=VALUE.", field=option, remedy=f"Write it as {option} language=es."
            )
        value = _value(written)
        values[key] = [*_listed(values[key]), *_listed(value)] if key in values else value
    return values


def filter_pairs(pairs: Sequence[str] | None) -> dict[str, object]:
    """Return ``language=es`` or ``year={"$gte": 2025}`` as an object; a field's value is text."""
    return parse_pairs([_as_text(pair) for pair in pairs or ()], option="--filter")


def _as_text(pair: str) -> str:
    key, separator, written = pair.partition("=")
    if key not in FILTER_FIELDS or isinstance(_value(written), list | dict | str):
        return pair
    return f"{key}{separator}{json.dumps(written)}"


def parse_weights(text: str | None) -> dict[str, float]:
    """Return the weights of ``dense=1,full_text=2``. Raises InvalidInputError."""
    weights: dict[str, float] = {}
    for part in (text or "").split(","):
        name, separator, written = part.partition("=")
        if not part.strip():
            continue
        try:
            weight = float(written)
        except ValueError:
            weight = math.nan
        if not separator or not name.strip() or not math.isfinite(weight):
            raise InvalidInputError(
                "--weights takes SOURCE=NUMBER, separated by commas.",
                field="--weights",
                remedy="Write it as --weights dense=1,full_text=2.",
            )
        weights[name.strip()] = weight
    return weights


def comma_separated(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _value(written: str) -> object:
    try:
        return json.loads(written, parse_constant=lambda _: written)
    except ValueError:
        return written
