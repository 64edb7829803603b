"""ADR-012's channel: ``tsv`` and ``ts_rank_cd``, its words joined by AND or by OR."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ragcorp.domain.ports.storage import DocumentRepository, LexicalChunks
from ragcorp.domain.search.requests import QuerySyntax, SparseOperator, SparseRanking
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.documents.repository import LexicalOptions
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, ids, written

pytestmark = pytest.mark.anyio

TEXTS = {
    "1.txt": "El plazo es largo y nadie sabe cuándo será la entrega.",
    "2.txt": "Plazo entrega.",
    "3.txt": "Otro asunto.",
    "4.txt": "Plazo entrega.",
    "5.txt": "La entrega.",
}


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


async def stored(database: Database, operator: SparseOperator) -> DocumentRepository:
    options = LexicalOptions(ranking=SparseRanking.TS_RANK_CD, operator=operator)
    repository = await repository_over(database, lexical=options)
    await repository.save_many([written(name, text) for name, text in TEXTS.items()], principal=ANYONE)
    return repository


async def names(repository: DocumentRepository, found: LexicalChunks) -> list[str]:
    chunk_ids = [str(i) for i in ids(found.ranked_list.hits)]
    chunks = await repository.get_chunks(chunk_ids, principal=ANYONE)
    return [chunks[chunk_id].external_id for chunk_id in chunk_ids]


async def test_every_word_by_cover_density_then_id(database: Database) -> None:
    repository = await stored(database, SparseOperator.AND)
    result = await repository.find_chunks_full_text("plazo entrega", principal=ANYONE, limit=10)
    assert result.ranked_list.score_type == "ts_rank_cd"
    assert await names(repository, result) == ["2.txt", "4.txt", "1.txt"]
    scores = [hit.score for hit in result.ranked_list]
    # ts_rank_cd adds 0.1 (weight D) over the distance of the cover: side by side 0.1; seven words on 0.1 / 7
    assert scores[0] == scores[1] == pytest.approx(0.1, abs=1e-6)
    assert 0 < scores[2] < scores[1]
    assert (result.identifiers.hits, result.all_words.hits, result.cut) == ((), (), False)


async def test_any_word_puts_those_that_hold_more_first(database: Database) -> None:
    repository = await stored(database, SparseOperator.OR)
    result = await repository.find_chunks_full_text("plazo entrega zanahoria", principal=ANYONE, limit=10)
    assert await names(repository, result) == ["1.txt", "2.txt", "4.txt", "5.txt"]
    and_ = await stored(database, SparseOperator.AND)
    nothing = await and_.find_chunks_full_text("plazo entrega zanahoria", principal=ANYONE, limit=10)
    assert nothing.ranked_list.hits == ()


@pytest.mark.parametrize("operator", SparseOperator)
async def test_operators_are_text_unless_the_syntax_is_websearch(database: Database, operator: SparseOperator) -> None:
    repository = await stored(database, operator)
    typed = await repository.find_chunks_full_text("entrega -plazo", principal=ANYONE, limit=10)
    words = await repository.find_chunks_full_text("plazo entrega", principal=ANYONE, limit=10)
    assert typed.ranked_list == words.ranked_list
    assert len(words.ranked_list) == (3 if operator is SparseOperator.AND else 4)
    either = await repository.find_chunks_full_text("asunto or plazo", principal=ANYONE, limit=10)
    assert len(either.ranked_list) == (0 if operator is SparseOperator.AND else 4)
    expected = {"entrega -plazo": ["5.txt"], "asunto or plazo": ["1.txt", "2.txt", "3.txt", "4.txt"]}
    for query, external_ids in expected.items():
        web = await repository.find_chunks_full_text(query, principal=ANYONE, limit=10, syntax=QuerySyntax.WEBSEARCH)
        assert sorted(await names(repository, web)) == external_ids


@pytest.mark.parametrize("operator", SparseOperator)
async def test_stop_words_quotes_and_dashes_break_nothing(database: Database, operator: SparseOperator) -> None:
    repository = await stored(database, operator)
    for syntax in QuerySyntax:
        for query in ("de la que", "'", '"', "\\", "-" * 60, " -x" * 60, "a & | b <-> !! :* (", "plazo's", "\x01", ""):
            await repository.find_chunks_full_text(query, principal=ANYONE, limit=10, syntax=syntax)
        stop_words = await repository.find_chunks_full_text("de la que", principal=ANYONE, limit=10, syntax=syntax)
        assert stop_words.ranked_list.hits == ()
