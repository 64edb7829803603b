"""``folded`` and the SQL function ``folded_text`` return the same."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import Connection
from psycopg.rows import TupleRow

from ragcorp.domain.text.folding import folded

CHARACTERS = [
    character for character in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(character)[0] in "LMN"
]
TEXTS = (
    "El AÑO, el ano y el an\u0303o",
    "n\u0323\u0303 n\u0303\u0323 n\u0303\u0301 ⁿ\u0303 ｎ\u0303",
    "ΟΔΟΣ ΟΔΟΣ. οδος 𝚺 Σ",
    "12 m² y 5 cm³, nota¹ ½ 2.ª n.º",
    "İstanbul ISTANBUL ı ŉ ẞ ß",
    "한글 가 が ガ \u304b\u3099 ㄱ",
    "C:\\Datos\\Año — 3 − 2 … ﬁn",
    "so\u00adft zero\u200bwidth \ufeffbom",
)  # fmt: skip


@pytest.fixture(scope="module")
def connection(postgres_server: Any, template_database: str) -> Iterator[Connection[TupleRow]]:
    name = f"folding_{os.getpid()}"
    with postgres_server.superuser() as superuser:
        superuser.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template_database}" OWNER ragcorp_owner')
        with psycopg.connect(postgres_server.dsn(name), autocommit=True) as connection:
            yield connection
        superuser.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def by_sql(connection: Connection[TupleRow], texts: Sequence[str]) -> list[str]:
    row = connection.execute(
        "SELECT array_agg(folded_text(text) ORDER BY n) FROM unnest(%s::text[]) WITH ORDINALITY AS texts (text, n)",
        (list(texts),),
    ).fetchone()
    assert row is not None
    folded_texts: list[str] = row[0]
    return folded_texts


@pytest.mark.parametrize("around", ["{}", "am{}os", "n\u0303 {}\u0301"])
def test_every_letter_mark_and_number_is_folded_as_in_sql(connection: Connection[TupleRow], around: str) -> None:
    texts = [around.format(character) for character in CHARACTERS]
    different = [
        (text.encode("unicode_escape").decode(), folded(text), sql)
        for text, sql in zip(texts, by_sql(connection, texts), strict=True)
        if folded(text) != sql
    ]
    assert different == []


def test_texts_are_folded_as_in_sql(connection: Connection[TupleRow]) -> None:
    assert list(map(folded, TEXTS)) == by_sql(connection, TEXTS)


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs", "Cn", "Co"))), min_size=20))
def test_any_text_is_folded_as_in_sql(connection: Connection[TupleRow], texts: list[str]) -> None:
    assert list(map(folded, texts)) == by_sql(connection, texts)
