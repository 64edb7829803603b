"""Bundles of use cases for tests of one interface."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ragcorp.interface.use_cases import UseCases


def use_cases(**given: Any) -> UseCases:
    """Return a bundle of the given use cases; a test that needs another one fails."""
    missing = object()
    return UseCases(**{"default_language": "es"} | {name: given.get(name, missing) for name in USE_CASES} | given)


USE_CASES = frozenset(field.name for field in fields(UseCases)) - {"default_language"}
