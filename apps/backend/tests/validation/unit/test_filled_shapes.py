"""A shape filled from domain values: fields by name, in the order of the shape, none missing."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from typing_extensions import TypedDict

from ragcorp.interface.shapes.values import filled


class Base(TypedDict):
    id: str


class Shape(Base):
    title: str
    size: int


@dataclass(frozen=True)
class Source:
    size: int
    id: str


@dataclass(frozen=True)
class Attributes:
    title: str
    size: int = 7


def test_the_first_source_with_the_name_gives_the_field_and_a_value_precedes_all() -> None:
    document = filled(Shape, Source(size=3, id="a"), Attributes(title="b"), id="c")

    assert list(document.items()) == [("id", "c"), ("title", "b"), ("size", 3)]


def test_a_field_that_is_nowhere_is_an_error() -> None:
    with pytest.raises(AttributeError, match="title"):
        filled(Shape, Source(size=3, id="a"))
