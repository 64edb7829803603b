"""A query of nothing but misspelt words is corrected in its first words only: each costs a look at the lexicon."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from support.retrieval.lexicon import store, terms

MOST = 24


def letters(number: int) -> str:
    return f"{chr(97 + number // 26)}{chr(97 + number % 26)}"


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection[TupleRow]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def test_the_first_of_them_are(connection: Connection[TupleRow]) -> None:
    existing = [f"zarpaqueton{letters(number)}melgo" for number in range(40)]
    store(connection, " ".join(existing))
    misspelt = [word.replace("quet", "qet") for word in existing]
    results = terms(connection, " ".join(misspelt))
    assert [term.typed is not None for term in results] == [True] * MOST + [False] * (len(existing) - MOST)
    few = terms(connection, " ".join(misspelt[:MOST]))
    assert [term.lexeme for term in few] == [term.lexeme for term in results[:MOST]]


def test_known_words_before_them_do_not_count(connection: Connection[TupleRow]) -> None:
    existing = [f"zarpaqueton{letters(number)}melgo" for number in range(40)]
    store(connection, " ".join(existing))
    results = terms(connection, " ".join([*existing, existing[3].replace("quet", "qet")]))
    assert results[-1].typed is not None
