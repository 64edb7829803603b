"""`ragcorp entities refresh` over documents that were stored before there were entities."""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from support.command_line import Done

FOUND = """
    SELECT kind || ' ' || name FROM structural_entities e JOIN documents d ON d.id = e.document_id
    WHERE d.external_id = 'contratos/marco.md' AND kind = 'section' ORDER BY position
"""


def test_documents_of_before_get_their_entities_once(filled: Callable[..., Done], dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        stored = connection.execute(FOUND).fetchall()
        assert stored == [("section Contrato marco",), ("section Partes",), ("section Entrega",)]
        connection.execute("DELETE FROM structured_documents WHERE path = 'contratos/marco.md'")
        connection.execute("UPDATE structured_documents SET fingerprint = 'older'")
        done = filled("entities", "refresh", "--json")
        assert (done.code, done.json["documents"], done.json["waiting"]) == (0, 2, 0)
        assert done.json["entities"] >= 4
        assert "2 of 2 documents" in done.err
        assert connection.execute(FOUND).fetchall() == stored
    again = filled("entities", "refresh")
    assert again.code == 0
    assert "0 entities found in 0 documents" in again.out
