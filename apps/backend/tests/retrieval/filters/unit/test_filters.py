"""The tree of filters: what is one, what a collection leaves of it, and how it is written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.files.filter_evaluation import meets
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import (
    FILTER_FIELDS,
    METADATA,
    AllOf,
    AnyOf,
    Condition,
    Filter,
    Filters,
    Not,
    Operator,
    fields_of,
    narrowed_to,
    require_filters,
)
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.cli.console.arguments import filter_pairs
from ragcorp.interface.http.protocol.filters import filters_schema
from ragcorp.interface.request_values import OPERATORS, parse_filters
from support.retrieval.filterable import OF_ITEMS, things

JANUARY = datetime(2025, 1, 1, tzinfo=UTC)


def condition(name: str, *values: Any, operator: Operator = Operator.IN) -> Condition:
    return Condition(name=name, operator=operator, values=values)


def nested(levels: int) -> dict[str, Any]:
    tree: dict[str, Any] = {"k": 1}
    for _ in range(levels):
        tree = {"$not": tree}
    return tree


WRITTEN: list[tuple[dict[str, Any], Filters]] = [
    ({}, ()),
    ({"language": "es"}, (condition("language", "es"),)),
    ({"language": ["es", "en"]}, (condition("language", "es", "en"),)),
    ({"language": {"$eq": "es"}}, (condition("language", "es"),)),
    ({"year": {"$ne": 1}}, (condition("year", 1, operator=Operator.NOT_IN),)),
    ({"year": {"$nin": [1, "1", True]}}, (condition("year", 1, "1", True, operator=Operator.NOT_IN),)),
    (
        {"year": {"$gte": 2024, "$lt": 2026}},
        (condition("year", 2024, operator=Operator.GTE), condition("year", 2026, operator=Operator.LT)),
    ),
    ({"year": {"$exists": False}}, (condition("year", False, operator=Operator.EXISTS),)),
    ({"year": {"$not": {"$gt": 5}}}, (Not(part=condition("year", 5, operator=Operator.GT)),)),
    ({"occurred_at": {"gte": "2025-01-01"}}, (condition("occurred_at", JANUARY, operator=Operator.GTE),)),
    ({"occurred_at": {"$gt": "2025-01-01T01:00:00+01:00"}}, (condition("occurred_at", JANUARY, operator=Operator.GT),)),
    ({"sensitivity": {"$lte": "normal"}}, (condition("sensitivity", "normal", operator=Operator.LTE),)),
    ({"$and": [{"a": 1}, {"b": 2, "c": 3}]}, (condition("a", 1), condition("b", 2), condition("c", 3))),
    (
        {"$or": [{"a": 1}, {"b": 2, "c": 3}], "language": "es"},
        (
            AnyOf(parts=(condition("a", 1), AllOf(parts=(condition("b", 2), condition("c", 3))))),
            condition("language", "es"),
        ),
    ),
    ({"$not": {"a": 1}}, (Not(part=condition("a", 1)),)),
]


@pytest.mark.parametrize(("written", "expected"), WRITTEN)
def test_what_is_written_is_read(written: dict[str, Any], expected: Filters) -> None:
    assert parse_filters(written) == expected


@pytest.mark.parametrize(
    ("written", "field", "says"),
    [
        ({"year": {"$regex": "a"}}, "filters", "$eq, $ne, $in, $nin, $gt, $gte, $lt, $lte, $exists, $and, $or, $not"),
        ({"$nor": [{"a": 1}]}, "filters", "$or"),
        ({"year": {"$gt": 5, "b": 1}}, "filters", "mixed"),
        ({"year": {"gt": 5}}, "filters", "$gt"),
        ({"year": {}}, "filters", "empty"),
        ({"year": None}, "filters", "$exists"),
        ({"year": {"$eq": None}}, "filters", "$exists"),
        ({"year": {"$eq": [1]}}, "filters", "scalar"),
        ({"year": {"$in": 1}}, "filters", "list"),
        ({"year": {"$in": []}}, "filters", "list"),
        ({"year": {"$gt": [1]}}, "filters", "scalar"),
        ({"year": {"$gt": True}}, "filters", "numbers, or texts"),
        ({"year": {"$exists": 1}}, "filters", "true or false"),
        ({"year": {"$not": 5}}, "filters", "object of operators"),
        ({"year": {"$not": {}}}, "filters", "empty"),
        ({"year": float("nan")}, "filters", "finite"),
        ({"year": {"$gt": 10**400}}, "filters", "finite"),
        ({"language": 5}, "filters.language", "text"),
        ({"language": {"$gt": "a"}}, "filters.language", "no range"),
        ({"speaker": True}, "filters.speaker", "text"),
        ({"sensitivity": {"$gt": "huge"}}, "filters.sensitivity", "public, normal, confidential, restricted"),
        ({"document_id": {"$ne": "x"}}, "filters.document_id", "UUID"),
        ({"occurred_at": {"$in": ["2025-01-01"]}}, "filters.occurred_at", "range"),
        ({"occurred_at": {"$gt": 5}}, "filters.occurred_at", "ISO 8601"),
        ({"occurred_at": {"$gt": "0001-01-01T00:00:00+23:00"}}, "filters.occurred_at", "ISO 8601"),
        ({"$or": []}, "filters", "list"),
        ({"$or": {"a": 1}}, "filters", "list"),
        ({"$or": [{}]}, "filters", "object"),
        ({"$or": ["a"]}, "filters", "object"),
        ({"$not": {}}, "filters", "object"),
        ({"$not": [{"a": 1}]}, "filters", "object"),
        ({"$or": [{f"k{n}": 1 for n in range(50)}] * 5}, "filters", "200 conditions"),
        ({"k": {"$in": list(range(101))}}, "filters", "100 values"),
        ({"$not": {"k" * 201: 1}}, "filters", "200 characters"),
        (nested(6), "filters", "5 levels"),
        (nested(900), "filters", "5 levels"),
        ({"$and": [{"a\x00": 1}]}, "filters", "NUL"),
        ({"owner": "\ud800"}, "filters.owner", "surrogate"),
    ],
)
def test_what_is_no_filter_names_field_limit_and_remedy(written: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(InvalidInputError) as refusal:
        parse_filters(written)
    error = refusal.value
    assert error.field == field
    assert error.remedy
    assert says in f"{error} {error.limit}"


def test_limits_are_reached_before_they_are_passed() -> None:
    assert len(parse_filters({f"k{n}": 1 for n in range(20)})) == 20
    assert parse_filters(nested(5))
    assert parse_filters({"k" * 200: list(range(100))})


def test_a_tree_that_is_built_by_hand_is_held_to_the_same_limits() -> None:
    many = tuple(condition("k", number) for number in range(201))
    for parts in (many, [condition("k", 1)], ("k",)):
        with pytest.raises(InvalidInputError):
            require_filters(parts)  # type: ignore[arg-type]
    for kind in (AllOf, AnyOf):
        for parts in (many, (), ["k"]):
            with pytest.raises(InvalidInputError):
                kind(parts=parts)
    tree: Filter = condition("k", 1)
    with pytest.raises(InvalidInputError, match="nested too deeply"):
        for _ in range(2000):
            tree = Not(part=tree)


@pytest.mark.parametrize("name", sorted(FILTER_FIELDS))
def test_every_field_takes_its_values_and_may_be_missing(name: str) -> None:
    values = {"document_id": str(UUID(int=1)), "sensitivity": "normal", "visibility_scope": "group"}
    written: dict[str, Any] = {"$gte": "2025-01-01"} if name == "occurred_at" else values.get(name, "x")
    (asked,) = parse_filters({name: written})
    assert fields_of((asked,)) == {name}
    assert not meets((asked,), {})
    assert meets(parse_filters({name: {"$exists": False}}), {})
    assert meets((Not(part=asked),), {})


def test_names_that_are_no_fields_are_metadata() -> None:
    tree = parse_filters({"$or": [{"year": 1}, {"$not": {"language": "es"}}], "k": {"$gt": 1}})
    assert fields_of(tree) == {METADATA, "language"}
    assert fields_of(()) == frozenset()


SPEAKS = condition("speaker", "Priya")
CHUNKS = condition("collection", "artifact_chunks")


@pytest.mark.parametrize(
    ("filters", "in_chunks", "in_history"),
    [
        ((), (), ()),
        ((CHUNKS,), (), None),
        ((Not(part=CHUNKS),), None, ()),
        ((condition("collection", "memory", operator=Operator.NOT_IN),), (), ()),
        ((condition("collection", True, operator=Operator.EXISTS),), (), ()),
        ((condition("collection", False, operator=Operator.EXISTS),), None, None),
        ((AnyOf(parts=(CHUNKS, SPEAKS)),), (), (SPEAKS,)),
        ((AllOf(parts=(CHUNKS, SPEAKS)),), (SPEAKS,), None),
        ((Not(part=AllOf(parts=(CHUNKS, SPEAKS))),), (Not(part=SPEAKS),), ()),
        ((Not(part=AnyOf(parts=(CHUNKS, SPEAKS))), SPEAKS), None, (Not(part=SPEAKS), SPEAKS)),
    ],
)
def test_a_collection_decides_the_conditions_on_it(
    filters: Filters, in_chunks: Filters | None, in_history: Filters | None
) -> None:
    assert narrowed_to(filters, "artifact_chunks") == in_chunks
    assert narrowed_to(filters, "history") == in_history


@given(st.lists(OF_ITEMS, max_size=3).map(tuple), things(), st.sampled_from(["memory", "history", "artifacts"]))
def test_what_is_narrowed_means_the_same(filters: Filters, thing: dict[str, object], collection: str) -> None:
    narrowed = narrowed_to(filters, collection)
    expected = meets(filters, thing | {"collection": collection})
    if narrowed is None:
        assert not expected
    else:
        assert "collection" not in fields_of(narrowed)
        assert meets(narrowed, thing) is expected


@given(OF_ITEMS, things())
def test_a_filter_holds_or_its_negation_does(tree: Filter, thing: dict[str, object]) -> None:
    assert meets((tree,), thing) is not meets((Not(part=tree),), thing)


def test_levels_and_times_have_an_order() -> None:
    thing = {"sensitivity": Sensitivity.NORMAL, "occurred_at": JANUARY}
    assert meets(parse_filters({"sensitivity": {"$gt": "public"}, "occurred_at": {"$lte": "2025-01-01"}}), thing)
    assert not meets(parse_filters({"sensitivity": {"$gte": "confidential"}}), thing)
    assert not meets(parse_filters({"occurred_at": {"$lt": "2025-01-01T00:00:00Z"}}), thing)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (["external_id=5"], {"external_id": "5"}),
        (["external_id=true", "year=2025"], {"external_id": "true", "year": 2025}),
        (['external_id="5"'], {"external_id": "5"}),
        (['external_id=["5", "6"]'], {"external_id": ["5", "6"]}),
        (["session=1", "session=2"], {"session": ["1", "2"]}),
        (['year={"$gte": 2025}'], {"year": {"$gte": 2025}}),
        (['$or=[{"a": 1}, {"language": "es"}]'], {"$or": [{"a": 1}, {"language": "es"}]}),
        (None, {}),
    ],
)
def test_pairs_of_the_command_line(pairs: list[str] | None, expected: dict[str, Any]) -> None:
    assert parse_filters(filter_pairs(pairs)) == parse_filters(expected)


def test_the_described_filters_are_those_that_are_read() -> None:
    described = filters_schema(20)["properties"]
    assert set(described) == FILTER_FIELDS | {"$and", "$or", "$not"}
    for example in filters_schema(20)["examples"]:
        assert parse_filters(example)
    forms = filters_schema(20)["additionalProperties"]["anyOf"]
    written = {operator for form in forms for operator in form.get("properties", ())}
    assert written | {"$and", "$or"} == set(OPERATORS.split(", "))
