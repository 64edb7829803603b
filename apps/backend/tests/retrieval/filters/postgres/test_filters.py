"""Filters in SQL say what they say over plain values, on random things and random trees."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection
from psycopg.rows import TupleRow

from ragcorp.application.files.filter_evaluation import meets
from ragcorp.domain.collections import Collection
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import AnyOf, Condition, Filters, Not
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.visibility.predicates import (
    CHUNKS,
    DOCUMENTS,
    HISTORY,
    MEMORY,
    FilterTable,
    filtered,
    matching_documents,
    visibility,
)
from support.retrieval.filterable import (
    CHOICES,
    MOMENTS,
    OF_DOCUMENTS,
    OF_ITEMS,
    WORKSPACE,
    insert_documents,
    insert_items,
    things,
)
from support.storage.stored import where

EXAMPLES = settings(suppress_health_check=list(HealthCheck))
ANA = Principal(subject="ana", groups=frozenset({"legal"}), clearance=Sensitivity.CONFIDENTIAL)


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection[TupleRow]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def found(connection: Connection[TupleRow], statement: str, values: dict[str, object]) -> list[str]:
    rows = connection.execute(statement, values | {"workspace": WORKSPACE}, prepare=True)  # type: ignore[call-overload]
    return sorted(row[0] for row in rows.fetchall())


def of_table(connection: Connection[TupleRow], filters: Filters, *, name: str, table: FilterTable) -> list[str]:
    narrowed = filtered(filters, table=table, alias="t")
    return found(connection, f"SELECT t.external_id FROM {name} t WHERE {narrowed.sql}", narrowed.values)


def of_chunks(connection: Connection[TupleRow], filters: Filters, *, joined: bool) -> list[str]:
    """``joined``: the statement reads the documents itself."""
    narrowed = filtered(filters, documents_alias="b" if joined else None)
    statement = "SELECT b.external_id FROM chunks c JOIN documents b ON b.id = c.document_id WHERE "
    return found(connection, statement + narrowed.sql, narrowed.values)


@EXAMPLES
@given(
    described=st.lists(things(), min_size=1, max_size=8),
    asked=st.lists(st.lists(OF_DOCUMENTS, min_size=1, max_size=2).map(tuple), min_size=1, max_size=8),
)
def test_documents_and_chunks(
    connection: Connection[TupleRow], described: list[dict[str, object]], asked: list[Filters]
) -> None:
    connection.execute("DELETE FROM documents")
    insert_documents(connection, described)
    visible = visibility(ANA, alias="d")
    for filters in asked:
        expected: dict[str, list[str]] = {}
        for collection in (Collection.ARTIFACTS, Collection.ARTIFACT_CHUNKS):
            expected[collection] = sorted(
                str(number)
                for number, thing in enumerate(described)
                if meets(
                    filters,
                    thing
                    | {
                        "external_id": str(number),
                        "document_id": f"00000000-0000-0000-0000-{number + 1:012x}",
                        "collection": collection,
                    },
                )
            )
        of_documents = of_table(connection, filters, name="documents", table=DOCUMENTS)
        assert of_documents == expected[Collection.ARTIFACTS]
        for joined in (False, True):
            assert of_chunks(connection, filters, joined=joined) == expected[Collection.ARTIFACT_CHUNKS]
        matching = f"SELECT d.external_id FROM documents d WHERE {matching_documents(ANA, filters)}"
        readable = set(found(connection, f"SELECT d.external_id FROM documents d WHERE {visible.sql}", visible.values))
        passing = filtered(filters).values | visible.values
        assert found(connection, matching, passing) == sorted(readable & {*expected[Collection.ARTIFACT_CHUNKS]})


@EXAMPLES
@given(
    described=st.lists(things(), min_size=1, max_size=8),
    asked=st.lists(st.lists(OF_ITEMS, min_size=1, max_size=2).map(tuple), min_size=1, max_size=8),
    table=st.sampled_from([("memory_items", MEMORY), ("history_turns", HISTORY)]),
)
def test_items(
    connection: Connection[TupleRow],
    described: list[dict[str, object]],
    asked: list[Filters],
    table: tuple[str, FilterTable],
) -> None:
    name, filterable = table
    described = [thing | {"occurred_at": thing["occurred_at"] or MOMENTS[0]} for thing in described]
    connection.execute(f"DELETE FROM {name}")
    insert_items(connection, name, described)
    for filters in asked:
        expected = sorted(
            str(number)
            for number, thing in enumerate(described)
            if meets(filters, thing | {"external_id": str(number), "collection": filterable.collection})
        )
        assert of_table(connection, filters, name=name, table=filterable) == expected


@pytest.mark.parametrize(("table", "name"), [(CHUNKS, "speaker"), (DOCUMENTS, "session"), (MEMORY, "document_id")])
def test_a_field_that_a_table_lacks_is_an_error_and_no_sql(table: FilterTable, name: str) -> None:
    value = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(InvalidInputError) as refusal:
        filtered((Not(part=Condition(name=name, values=(value,))),), table=table, alias="t")
    assert refusal.value.field == f"filters.{name}"
    elsewhere = AnyOf(parts=(Condition(name=name, values=(value,)), Condition(name="collection", values=("x",))))
    with pytest.raises(InvalidInputError):
        filtered((elsewhere,), table=table, alias="t")


def test_what_the_collection_decides_leaves_no_trace_in_the_sql() -> None:
    chunks = Condition(name="collection", values=("artifact_chunks", "memory"))
    assert filtered((chunks,)).clauses == []
    assert filtered((Not(part=chunks),)).clauses == ["false"]
    either = AnyOf(parts=(chunks, Condition(name="speaker", values=("Priya",))))
    assert filtered((either,)).clauses == []
    assert filtered((either,), table=HISTORY, alias="t").sql == "t.speaker = ANY(%(filter_0)s::text[])"


def test_filters_of_one_shape_have_one_text_and_hold_no_value() -> None:
    def text(word: str, number: float) -> str:
        tree = {"$or": [{word: {"$gt": number}}, {word: word}, {"$not": {"owner": [word, "x"]}}], "language": word}
        narrowed = filtered(where(**tree))
        assert word not in narrowed.sql
        return narrowed.sql + matching_documents(Principal(), where(**tree))

    assert text("zqx", 1) == text("' OR 1=1 --", 2.5) == text("%(filter_0)s;", 10**30)


def test_conditions_on_documents_alone_are_one_semi_join() -> None:
    narrowed = filtered(where(year=2025, external_id="a", language="es", **{"$or": [{"owner": "x"}, {"k": 1}]}))
    assert len(re.findall("FROM documents", narrowed.sql)) == 1
    assert narrowed.clauses[0] == "c.language = ANY(%(filter_2)s::text[])"


def test_metadata_values_are_looked_up_in_the_index(connection: Connection[TupleRow]) -> None:
    narrowed = filtered(where(year=[2025, "2025"]), table=DOCUMENTS, alias="d")
    with connection.transaction():
        connection.execute("SET LOCAL enable_seqscan = off")
        plan = connection.execute(
            f"EXPLAIN SELECT id FROM documents d WHERE {narrowed.sql}", narrowed.values
        ).fetchall()  # type: ignore[call-overload]
    assert "ix_documents_metadata" in str(plan)


@pytest.mark.parametrize(
    ("stored", "asked", "expected"),
    [
        (0.30000000000000004, {"$gt": 0.30000000000000004}, False),
        (0.30000000000000004, {"$gte": 0.30000000000000004}, True),
        (0.30000000000000004, {"$gt": 0.3}, True),
        (10**23, {"$lte": 1e23}, True),
        (2**70 + 1, {"$gt": 2**70}, True),
        (10, {"$gt": 9}, True),
        ("10", {"$gt": "9"}, False),
        ("10", {"$gt": 9}, False),
        (10, {"$lt": "9"}, False),
        ("ñ", {"$gt": "z"}, True),
        ("a", {"$gt": "B"}, True),
        (True, {"$gte": 1}, False),
        (True, 1, False),
        (1.0, 1, True),
        (None, {"$exists": False}, True),
        (None, {"$ne": 1}, True),
        ([1], 1, False),
        ([1], {"$exists": True}, True),
        ({"a": 1}, {"$gt": 0}, False),
    ],
)
def test_metadata_is_compared_like_with_like_and_as_it_is_written(
    connection: Connection[TupleRow], stored: object, asked: object, expected: bool
) -> None:
    thing = {name: CHOICES[name][0] for name in ("language", "artifact_type", "visibility_scope", "owner")}
    described = {**thing, "sensitivity": Sensitivity.NORMAL, "occurred_at": None, "metadata": {"k": stored}}
    insert_documents(connection, [described])
    filters = where(k=asked)
    assert of_table(connection, filters, name="documents", table=DOCUMENTS) == (["0"] if expected else [])
    assert of_table(connection, (Not(part=filters[0]),), name="documents", table=DOCUMENTS) == (
        [] if expected else ["0"]
    )
    assert meets(filters, described) is expected


def test_texts_are_compared_by_code_point_whatever_the_databases_collation() -> None:
    assert 'COLLATE "C" > %(filter_1)s' in filtered(where(k={"$gt": "a"}), table=DOCUMENTS, alias="d").sql
