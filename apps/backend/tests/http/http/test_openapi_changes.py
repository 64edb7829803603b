"""The OpenAPI description has kept everything that it had before ADR-050, except the named text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

BEFORE = Path(__file__).with_name("openapi_before_050.json.gz")

IDEMPOTENCY_KEY = """\
* A write takes an `Idempotency-Key` (1 to 200 visible ASCII characters): sent again with it, the same request is
  answered as it was first, with `Idempotency-Replayed: true`, and not done again; another request with it is refused.
  The body is the first answer's, `request_id` of a problem included; `X-Request-ID` is this request's.
"""

Difference = tuple[Any, Any]


def differences(old: Any, new: Any, place: str = "") -> dict[str, Difference]:
    """Return (old, new) by JSON pointer; a missing value is ``...``."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {
            inner: pair
            for name in old.keys() | new.keys()
            for inner, pair in differences(old.get(name, ...), new.get(name, ...), f"{place}/{name}").items()
        }
    return {} if old == new else {place: (old, new)}


async def test_the_description_only_grows(client: httpx.AsyncClient) -> None:
    old = json.loads(gzip.decompress(BEFORE.read_bytes()))
    new = (await client.get("/openapi.json")).json()
    introduction = old["info"]["description"]
    assert IDEMPOTENCY_KEY in introduction
    changed = {place: pair for place, pair in differences(old, new).items() if pair[0] is not ...}
    assert changed.pop("/info/description") == (introduction, introduction.replace(IDEMPOTENCY_KEY, ""))

    def fields(description: Any, reference: str) -> set[str]:
        return set(description["components"]["schemas"][reference.rpartition("/")[2]]["properties"])

    for place, (before, after) in changed.items():
        if place.endswith("/$ref"):  # another shape that has the same fields, and more
            assert fields(old, before) <= fields(new, after), place
            continue
        assert place.endswith(("/required", "/description", "/examples")), place
        if place.endswith("/required"):
            assert set(before) <= set(after), place
