"""A document of many passages: they are inserted by the thousand, and the indexes know them all."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from ragcorp.infrastructure.postgres.connections import insert_rows
from ragcorp.main.opening.library import make_rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.retrieval.bm25 import assert_in_step

pytestmark = pytest.mark.anyio


async def test_no_statement_inserts_more_than_its_share_and_none_is_lost(
    make_container: Callable[..., Any], dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted: dict[str, list[int]] = defaultdict(list)
    execute = psycopg.AsyncCursor.execute

    async def counted(self: Any, statement: Any, values: Any = None, **options: Any) -> Any:
        if isinstance(statement, str) and statement.startswith("INSERT INTO") and "json_to_recordset" in statement:
            inserted[statement.split()[2]].append(len(json.loads(values["rows"])))
        return await execute(self, statement, values, **options)

    monkeypatch.setattr(insert_rows, "STATEMENT_ROWS", 3)
    monkeypatch.setattr(psycopg.AsyncCursor, "execute", counted)
    container = await make_container(parts=Parts(embedder=HashingEmbedder()))
    text = "\n\n".join(
        f"# Parte {number}\n\nLa cláusula número {number} vence en marzo. " + "Se paga al final. " * 60
        for number in range(10)
    )
    result = await make_rag(container).ingest_text("largo.md", text)
    assert result.chunks > 3
    assert sum(inserted["chunks"]) == result.chunks
    assert sum(inserted["structural_entities"]) > 3
    assert max(inserted["chunks"]) == max(inserted["structural_entities"]) == 3
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (result.chunks,)
        assert_in_step(connection)
