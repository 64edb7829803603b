"""How many chunks hold the words of a text, as far as the caller may know of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from benchmarks.wire import traced
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.lexical.text_analysis import MAX_WORDS, PostgresTermFrequencies
from support.storage.postgres import open_database, repository_over
from support.storage.stored import written

pytestmark = pytest.mark.anyio

ANA, BETO = Principal(subject="ana"), Principal(subject="beto", clearance=Sensitivity.NORMAL)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


async def store(database: Database, *texts: str, **attributes: Any) -> None:
    repository = await repository_over(database)
    await repository.save_many([written(text[:80], text, **attributes) for text in texts], principal=ANA)


def refresh(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT bm25_refresh('default')")


async def counted(database: Database, text: str, principal: Principal = BETO) -> Mapping[str, int]:
    return await PostgresTermFrequencies(database=database).document_frequencies(text, principal=principal)


async def test_words_are_counted_as_the_index_sees_them(database: Database) -> None:
    await store(database, "El contrato de Acme.", "Los contratos vencen.", "La penalización.")
    assert await counted(database, "¿Contrato con ACME, contratos, penalizacion de zapatos?") == {
        "Contrato": 2,
        "con": 0,
        "ACME": 1,
        "contratos": 2,
        "penalizacion": 1,
        "de": 0,
        "zapatos": 0,
    }


async def test_all_chunks_of_the_workspace_are_counted(database: Database) -> None:
    frequencies = PostgresTermFrequencies(database=database)
    assert await frequencies.count_chunks(principal=BETO) == 0
    await store(database, "El contrato de Acme.", "Los contratos vencen.", "La penalización.")
    assert await frequencies.count_chunks(principal=BETO) == 3
    assert await frequencies.count_chunks(principal=Principal(workspace="other")) == 0


async def test_each_language_of_the_workspace_counts(database: Database) -> None:
    await store(database, "Invoices are paid.", "An invoice.", language="en")
    await store(database, "La factura.")
    assert await counted(database, "invoicing invoices facturas") == {"invoicing": 2, "invoices": 2, "facturas": 1}


async def test_of_words_in_texts_that_the_caller_may_not_read_nothing_is_told(database: Database, dsn: str) -> None:
    await store(database, "zapirote azul", visibility_scope=VisibilityScope.PRIVATE, owner="ana")
    await store(database, "molinero azul", sensitivity=Sensitivity.RESTRICTED)
    await store(database, "azul")
    for _ in range(2):
        assert await counted(database, "zapirote molinero azul nadie") == {
            "zapirote": 0,
            "molinero": 0,
            "azul": 3,
            "nadie": 0,
        }
        assert await counted(database, "zapirote molinero", ANA) == {"zapirote": 1, "molinero": 1}
        refresh(dsn)  # the numbers are then those of the snapshot
    assert await counted(database, "azul", replace(ANA, workspace="other")) == {"azul": 0}


async def test_a_call_is_one_statement_and_bounded(database: Database, dsn: str) -> None:
    await store(database, "palabra0 palabra1")
    text = " ".join(f"palabra{number}" for number in range(MAX_WORDS + 40))
    with traced() as trace:
        async with open_database(dsn) as watched:
            trace.take()
            results = await PostgresTermFrequencies(database=watched).document_frequencies(text, principal=BETO)
            seen = trace.take()
    assert len(results) == MAX_WORDS + 40
    assert [word for word, count in results.items() if count] == ["palabra0", "palabra1"]
    assert len([statement for statement in seen.statements if "bm25" in statement]) == 1


async def test_texts_without_words_and_hostile_ones_are_no_error(database: Database) -> None:
    assert await counted(database, "¿? … 😀 a") == {}
    result = await counted(database, "%s %(a)s {} $1 \\ ' \" ; DROP TABLE; " + "x" * 3000)
    assert set(result.values()) == {0}


async def test_an_outage_is_said(database: Database) -> None:
    await database.close()
    with pytest.raises(StorageUnavailableError):
        await counted(database, "contrato")
