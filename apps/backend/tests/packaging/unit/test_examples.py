"""Every public function and class has an example in its docstring, and every example runs (ADR-051)."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

PUBLIC = (
    "ragcorp.testing",
    "ragcorp.evaluation",
    "ragcorp.application.retrieval.fusion",
    "ragcorp.application.retrieval.steps",
)


def modules() -> list[ModuleType]:
    packages = [importlib.import_module(name) for name in PUBLIC]
    below = (
        result.name
        for package in packages
        for result in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    )
    return [*packages, *map(importlib.import_module, below)]


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__.removeprefix("ragcorp."))
def test_examples_run_and_none_is_missing(module: ModuleType) -> None:
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0
    public = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
    ]
    assert [name for name in public if ">>>" not in (getattr(module, name).__doc__ or "")] == []
