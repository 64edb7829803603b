"""Strict JSON: UTF-8, bounded depth and number of values, no duplicate names, no NaN; then into a model."""

import json
import re
from array import array
from itertools import accumulate
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.text import strict_json
from ragcorp.interface.http.protocol.problems import FieldError, RequestRefusedError
from ragcorp.interface.http.protocol.validation import refused

Model = TypeVar("Model", bound=BaseModel)

MAX_JSON_VALUES = 10_000
"""Members and elements of one body. Checking one takes a hundred times its bytes, in the event loop."""

_STRINGS = re.compile(rb'"[^"\\]*+(?:\\(?:.|\Z)[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_AS_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""One level down is +1, one up is -1 (as signed bytes)."""


def parse_model(body: bytes, model: type[Model], *, max_depth: int, field: str = "body") -> Model:
    """Return ``body`` as a model. Raises InvalidInputError or RequestRefusedError."""
    value = check_json(body, max_depth=max_depth, field=field)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        if _has_lone_surrogate(value):
            raise _malformed(
                field,
                "holds half of a surrogate pair, which is no character.",
                limit="U+D800 to U+DFFF in pairs",
                remedy="Send whole characters.",
            ) from None
        raise refused(error, model, field=field) from None


def check_json(body: bytes, *, max_depth: int, field: str = "body") -> Any:
    """Return the value of a JSON text that all parsers read alike. Raises InvalidInputError."""
    _check_size(body, max_depth, field)
    try:
        return strict_json.parse(body)
    except strict_json.DuplicateNameError:
        raise InvalidInputError(
            f"{field} names a member twice in one object.", field=field, remedy="Name each member once."
        ) from None
    except strict_json.LongNumberError:
        raise _malformed(
            field,
            "holds a number that is too long.",
            limit=f"{strict_json.MAX_DIGITS} digits",
            remedy="Send it as a text.",
        ) from None
    except ValueError:
        raise _malformed(field, "is not valid JSON.", remedy="Send JSON (RFC 8259) in UTF-8.") from None


def line_object(line: bytes, *, max_depth: int) -> dict[str, Any]:
    """Return a line of a bulk request. Raises InvalidInputError for any JSON but an object."""
    value = check_json(line, max_depth=max_depth, field="line")
    if isinstance(value, dict):
        return value
    raise InvalidInputError("The line is not a JSON object.", field="line", remedy="Send one JSON object a line.")


def _malformed(field: str, message: str, *, remedy: str, limit: str | None = None) -> RequestRefusedError:
    return RequestRefusedError(
        FieldError(field=field, message=f"This {message}", limit=limit, remedy=remedy),
        code="malformed_json",
        detail=f"{field} {message}",
    )


def _has_lone_surrogate(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _check_size(body: bytes, max_depth: int, field: str) -> None:
    """Count brackets and commas outside strings, without a parser's stack and objects."""
    brackets, commas = body.count(b"[") + body.count(b"{"), body.count(b",")
    if brackets <= max_depth and brackets + commas <= MAX_JSON_VALUES:
        return
    bare = _STRINGS.sub(b"", body)
    if bare.count(b"[") + bare.count(b"{") + bare.count(b",") > MAX_JSON_VALUES:  # at least as many as there are values
        raise InvalidInputError(
            f"{field} holds too many members and elements.",
            field=field,
            limit=f"{MAX_JSON_VALUES} of them",
            remedy="Send fewer at once.",
        )
    steps = array("b", bare.translate(_AS_STEPS, _NO_BRACKETS))
    if max(accumulate(steps), default=0) > max_depth:
        raise InvalidInputError(
            f"{field} is nested too deeply.",
            field=field,
            limit=f"{max_depth} levels",
            remedy="Send a flatter structure.",
        )
