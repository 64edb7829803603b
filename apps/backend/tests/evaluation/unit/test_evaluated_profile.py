"""Profiles as an evaluation names them."""

from __future__ import annotations

import pytest

from ragcorp.application.evaluation.profile import STANDARD, parse_profile
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.search.requests import FusionMethod, SearchMode


def test_the_four_standard_profiles() -> None:
    assert STANDARD == ("dense", "sparse", "hybrid", "linear")
    assert [(parse_profile(name).mode, parse_profile(name).method) for name in STANDARD] == [
        (SearchMode.DENSE, None),
        (SearchMode.SPARSE, None),
        (SearchMode.HYBRID, FusionMethod.RRF),
        (SearchMode.HYBRID, FusionMethod.LINEAR),
    ]


def test_overrides_go_into_the_request() -> None:
    profile = parse_profile("linear:full_text=0.1, identifiers=0,k=20,window=50")
    assert profile.name == "linear:full_text=0.1, identifiers=0,k=20,window=50"
    request = profile.request("¿cuál?", limit=7)
    assert (request.query, request.limit, request.mode, request.method) == (
        "¿cuál?",
        7,
        SearchMode.HYBRID,
        FusionMethod.LINEAR,
    )
    assert (request.rank_constant, request.rank_window_size) == (20, 50)
    assert request.weights == {"full_text": 0.1, "identifiers": 0.0}


def test_without_overrides_everything_is_the_profiles_own() -> None:
    request = parse_profile("hybrid").request("x", limit=1)
    assert (request.rank_constant, request.rank_window_size, dict(request.weights)) == (None, None, {})


@pytest.mark.parametrize(
    "written", ["", "fancy", "auto", "hybrid:k", "hybrid:=1", "hybrid:k=x", "hybrid:k=1.5", "linear:full_text=nan"]
)
def test_what_is_no_profile_is_refused(written: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_profile(written)
