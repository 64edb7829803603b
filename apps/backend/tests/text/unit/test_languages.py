"""Codes of languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.text.languages import ANALYSED, CODES, require_language

WORDS = Path(__file__).parents[3] / "alembic" / "versions" / "004_words.json"


@pytest.mark.parametrize("code", [*ANALYSED, "gl", "eu", "ast", "ja", "und"])
def test_a_language_is_accepted(code: str) -> None:
    require_language(code)


@pytest.mark.parametrize("code", ["xx", "zz", "zzz", "", "ES", "es ", "esp", "español"])
def test_anything_else_is_refused_with_the_languages(code: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        require_language(code)
    assert refused.value.field == "language"
    assert refused.value.limit is not None
    assert refused.value.limit.startswith("es, en, pt, ca, fr, it, de, or another")


def test_the_analysed_languages_are_those_of_the_index() -> None:
    assert set(ANALYSED) == set(json.loads(WORDS.read_text())["configurations"])
    assert set(ANALYSED) <= CODES
