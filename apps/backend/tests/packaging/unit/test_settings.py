"""Settings that have two names, and errors of settings that do not fit together."""

from __future__ import annotations

import pytest

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.main.settings.schema import ALIASES, Settings, load_settings, origin_of

NAMES = [(alias.upper(), name.upper()) for alias, name in ALIASES.items()]


def refused(**overrides: object) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(overrides)
    return caught.value


def value_of(settings: Settings, name: str) -> object:
    return getattr(settings, name.lower())


def test_the_aliases_are_those_of_the_design() -> None:
    assert NAMES == [("RRF_CONSTANT", "RRF_K"), ("MAX_HYBRID_SEARCH_RESULTS", "MAX_LIMIT")]


@pytest.mark.parametrize(("alias", "name"), NAMES)
def test_an_alias_sets_what_it_names(monkeypatch: pytest.MonkeyPatch, alias: str, name: str) -> None:
    monkeypatch.setenv(alias, "37")
    assert value_of(load_settings(), name) == 37
    assert origin_of(name.lower(), {}) == f"environment: {alias}"
    assert value_of(load_settings({alias.lower(): 38}), name) == 38
    assert origin_of(name.lower(), {alias.lower(): 38}) == f"argument: {alias}"


@pytest.mark.parametrize(("alias", "name"), NAMES)
@pytest.mark.parametrize("other", ["060", "60.0", " 60 ", "6e1"])
def test_one_number_written_in_two_ways_is_one_value(
    monkeypatch: pytest.MonkeyPatch, alias: str, name: str, other: str
) -> None:
    monkeypatch.setenv(name, "60")
    monkeypatch.setenv(alias, other)
    if other == "6e1":  # a number, but no whole one as settings write it
        assert refused().field == alias
    else:
        assert value_of(load_settings(), name) == 60
    assert origin_of(name.lower(), {}) == "environment"


@pytest.mark.parametrize(("alias", "name"), NAMES)
@pytest.mark.parametrize(("value", "other"), [("60", "61"), ("60", "sixty"), ("sixty", "60")])
def test_two_values_are_refused_under_both_names(
    monkeypatch: pytest.MonkeyPatch, alias: str, name: str, value: str, other: str
) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setenv(alias, other)
    error = refused()
    assert error.field == f"{alias}, {name}"
    assert f"{alias} and {name} are one setting and have two values" in error.message
    assert "SETTINGS" not in error.message
    assert "sixty" not in str(error)


@pytest.mark.parametrize(("alias", "name"), NAMES)
def test_a_bad_value_is_blamed_on_the_name_that_has_it(monkeypatch: pytest.MonkeyPatch, alias: str, name: str) -> None:
    monkeypatch.setenv(alias, "0")
    assert refused().field == alias
    monkeypatch.delenv(alias)
    monkeypatch.setenv(name, "0")
    assert refused().field == name


def test_settings_that_do_not_fit_together_are_named() -> None:
    assert refused(rerank_provider="http").field == "RERANK_URL"
    assert refused(embedding_model="another").field == "EMBEDDING_MODEL, EMBEDDING_DIM"
    assert refused(chunk_max_tokens=100, chunk_overlap_tokens=50).field == "CHUNK_OVERLAP_TOKENS"


@pytest.mark.parametrize("code", ["xx", "ES", ""])
def test_a_default_language_has_a_code(code: str) -> None:
    error = refused(default_language=code)
    assert error.field == "DEFAULT_LANGUAGE"
    assert "es, en, pt, ca, fr, it, de, or another code of ISO 639-1" in error.message
    assert load_settings({"default_language": "gl"}).default_language == "gl"
