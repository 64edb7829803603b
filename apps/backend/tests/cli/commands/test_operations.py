"""The operations behind the commands, which are imported when they run."""

from __future__ import annotations

import inspect
from dataclasses import fields
from functools import partial
from importlib import import_module
from typing import get_args, get_type_hints

import pytest

from ragcorp.interface.cli.console.services import Services
from ragcorp.main.commands.cli import make_services

HINTS = get_type_hints(Services)
LATER = [field.name for field in fields(Services) if isinstance(getattr(make_services(), field.name), partial)]


@pytest.mark.parametrize("operation", LATER)
def test_an_operation_exists_and_takes_the_arguments_of_its_type(operation: str) -> None:
    module, name, _ = getattr(make_services(), operation).args
    function = getattr(import_module(f"ragcorp.main.{module}"), name)
    required, _ = get_args(HINTS[operation])
    inspect.signature(function).bind(*required)


def test_most_operations_are_imported_later() -> None:
    assert len(LATER) == len(fields(Services)) - 2  # version and event loop
