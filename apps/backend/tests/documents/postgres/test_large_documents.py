"""A document of many passages: they are inserted by the thousand, and the indexes know them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from ragcorp.infrastructure.postgres.documents import writes as document_writes
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.retrieval.bm25 import assert_in_step

pytestmark = pytest.mark.anyio


async def test_no_statement_inserts_more_than_its_share_and_none_is_lost(
    make_container: Callable[..., Any], dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted: list[int] = []
    insert_rows = document_writes.insert_rows

    async def counted(cursor: Any, table: str, columns: Any, rows: Any) -> None:
        inserted.append(len(rows))
        await insert_rows(cursor, table, columns, rows)

    monkeypatch.setattr(document_writes, "STATEMENT_ROWS", 3)
    monkeypatch.setattr(document_writes, "insert_rows", counted)
    container = await make_container(parts=Parts(embedder=HashingEmbedder()))
    text = "\n\n".join(
        f"# Parte {number}\n\nLa cláusula número {number} vence en marzo. " + "Se paga al final. " * 60
        for number in range(10)
    )
    result = await make_rag(container).ingest_text("largo.md", text)
    assert result.chunks > 3
    assert sum(inserted) == result.chunks
    assert max(inserted) == 3
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (result.chunks,)
        assert_in_step(connection)
