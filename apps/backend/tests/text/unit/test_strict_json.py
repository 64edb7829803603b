"""One strict JSON parser serves bodies, lines and models' answers."""

from __future__ import annotations

import pytest

from ragcorp.domain.text.strict_json import MAX_DIGITS, DuplicateNameError, LongNumberError, parse


def test_parses_text_and_utf_8() -> None:
    assert parse('{"a": [1, 2.5, "ñ"]}') == parse('{"a": [1, 2.5, "ñ"]}'.encode()) == {"a": [1, 2.5, "ñ"]}
    assert parse("1" * MAX_DIGITS) == int("1" * MAX_DIGITS)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"a": 1, "a": 1}', DuplicateNameError),
        ('[{"b": {"a": 1, "a": 2}}]', DuplicateNameError),
        ("-" + "1" * (MAX_DIGITS + 1), LongNumberError),
    ],
)
def test_names_what_is_wrong(text: str, error: type[ValueError]) -> None:
    with pytest.raises(error):
        parse(text)


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", "NaN", "[Infinity]", "-Infinity", b"\xff", b"\xff\xfe[\x00]\x00", "[" * 100_000]
)
def test_refuses_what_is_not_json(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parse(text)
