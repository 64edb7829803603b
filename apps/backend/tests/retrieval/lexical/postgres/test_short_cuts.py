"""What is computed by a short cut equals what the long way gives: words and terms of a query, the plan of BM25."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from psycopg import Connection
from psycopg.rows import TupleRow

from support.retrieval.bm25 import insert_chunks

HOME = "default"
STORED = ("El contrato marco vence en mayo", "La factura de mayo: REQ-2024-001", "wi-fi y contratos, v1.2", "año 2024")
PIECES = (
    "contrato",
    "Contratos",
    "mayo",
    "de",
    "la",
    "factura",
    "facutra",
    "año",
    "REQ-2024-001",
    "REQ",
    "2024",
    "001",
)
SEPARATORS = (" ", "  ", "-", ".", ", ", "/", ":", "://", "@", "_", "? ", " ¿", "'", "—", "")
TEXT = st.one_of(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(SEPARATORS)), max_size=6).map(
        lambda pairs: "".join(word + separator for word, separator in pairs)
    ),
    st.text(alphabet="abñó 1²-.:/@,٣Ⅳß\u0301", max_size=12),
)


@pytest.fixture(scope="module")
def connection(postgres_server: Any, template_database: str) -> Iterator[Connection[TupleRow]]:
    name = f"short_cuts_{os.getpid()}"
    with postgres_server.superuser() as superuser:
        superuser.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template_database}" OWNER ragcorp_owner')
        with psycopg.connect(postgres_server.dsn(name), autocommit=True) as connection:
            insert_chunks(connection, HOME, STORED, language="es")
            connection.execute("SELECT refresh_lexicon(%s)", (HOME,))
            yield connection
        superuser.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@settings(max_examples=150, deadline=None)
@example("x" * 2100)
@example("٣a b3")
@given(TEXT)
def test_words_of_letters_alone_are_those_of_the_analysis_of_compounds(
    connection: Connection[TupleRow], text: str
) -> None:
    text = text.replace("\x00", "")
    short, long = (
        sorted(connection.execute(f"SELECT * FROM {function}('es', %s)", (text,)).fetchall())
        for function in ("query_words", "query_compounds")
    )
    assert short == long


@settings(max_examples=100, deadline=None)
@given(TEXT)
def test_terms_that_all_occur_are_those_of_the_rules(connection: Connection[TupleRow], text: str) -> None:
    """A language that is named twice counts once, and takes the long way."""
    one, twice = (
        connection.execute("SELECT * FROM query_terms(%s, %s, %s)", (HOME, languages, text)).fetchall()
        for languages in (["es"], ["es", "es"])
    )
    assert sorted(one, key=str) == sorted(twice, key=str)


# the plan of BM25

CHUNKS = 100_000
COUNTS = st.lists(st.integers(0, CHUNKS), min_size=10, max_size=10).map(lambda counts: sorted(counts, reverse=True))
COUNTED = st.integers(1, 31).map(lambda count: [count] * 10)
TERMS = st.lists(
    st.tuples(st.floats(0.01, 12.0), st.one_of(COUNTS, COUNTED).filter(lambda counts: counts[0] > 0)),
    min_size=1,
    max_size=6,
)


def cheapest_levels(
    weights: Sequence[float], costs: Sequence[Sequence[float]], bounds: Sequence[float], score: float, skipped: int
) -> list[int]:
    """Return the levels at the least multiplier of the search whose unseen postings sum to less than ``score``."""

    def levels_at(multiplier: float) -> list[int]:
        chosen = []
        for number, (weight, counts) in enumerate(zip(weights, costs, strict=True), start=1):
            prices = [*counts, 0]
            by_price = [(prices[level] + multiplier * weight * bounds[level], -level) for level in range(11)]
            chosen.append(10 if number == skipped else -min(by_price)[1])
        return chosen

    def unseen(levels: Sequence[int]) -> float:
        return math.fsum(
            weight * bounds[level]
            for number, (weight, level) in enumerate(zip(weights, levels, strict=True), start=1)
            if number != skipped
        )

    if unseen(levels_at(0)) < score:
        return levels_at(0)
    low, high, found = 0.01, 1e9, [10 if number == skipped else 0 for number in range(1, len(weights) + 1)]
    while high >= low * 1.3:
        multiplier = math.sqrt(low * high)
        levels = levels_at(multiplier)
        if unseen(levels) < score:
            high, found = multiplier, levels
        else:
            low = multiplier
    return found


@settings(max_examples=150, deadline=None)
@given(TERMS, st.floats(0.05, 0.95), st.integers(0, 6), st.sampled_from([20.0, 66.0, 300.0]))
def test_the_levels_are_those_of_a_search_over_all_levels(
    connection: Connection[TupleRow], terms: list[tuple[float, list[int]]], part: float, skipped: int, average: float
) -> None:
    weights, costs = [weight for weight, _ in terms], [counts for _, counts in terms]
    skipped = min(skipped, len(terms) if len(terms) > 1 else 0)
    score = part * sum(weights) * 2.2
    row = connection.execute(
        "SELECT bm25_cut(%s, %s, bm25_bounds(%s), %s, %s), bm25_bounds(%s)",
        (weights, [float(count) for counts in costs for count in counts], average, score, skipped, average),
    ).fetchone()
    assert row is not None
    assert row[0] == cheapest_levels(weights, costs, row[1], score, skipped)


@settings(max_examples=100, deadline=None)
@given(TERMS, st.integers(1, 100))
def test_about_as_many_chunks_as_wanted_reach_the_guessed_score(
    connection: Connection[TupleRow], terms: list[tuple[float, list[int]]], wanted: int
) -> None:
    weights = [weight for weight, _ in terms]
    row = connection.execute(
        "SELECT bm25_guess(%s, %s, bm25_bounds(66), %s, %s), bm25_bounds(66)",
        (weights, [float(count) for _, counts in terms for count in counts], CHUNKS, wanted),
    ).fetchone()
    assert row is not None
    guessed, bounds = row
    step = sum(weights) * 2.2 / 60
    expected = {0: float(CHUNKS)}
    for weight, counts in terms:
        shares = {0: 1 - counts[0] / CHUNKS}
        for level, (count, above) in enumerate(zip(counts, [*counts[1:], 0], strict=True)):
            typical = 0.93 * bounds[1] if level == 0 else 0.6 * bounds[level] + 0.4 * bounds[level + 1]
            of_unknown_level = counts[0] == counts[9]
            reaching = (counts[0] if level == 0 else 0) if of_unknown_level else count - above
            steps = math.floor(weight / step * typical)
            shares[steps] = shares.get(steps, 0.0) + reaching / CHUNKS
        summed: dict[int, float] = {}
        for score, chunks in expected.items():
            for steps, share in shares.items():
                if score + steps < 60:
                    summed[score + steps] = summed.get(score + steps, 0.0) + chunks * share
        expected = summed
    reached = 0.0
    for score in range(59, -1, -1):
        reached += expected.get(score, 0.0)
        if abs(reached - wanted) < 1e-6:
            return  # rounding decides
        if reached >= wanted:
            assert guessed == pytest.approx(score * step)
            return
    assert guessed == 0
