"""A backup that is taken while documents are stored is of one moment: it restores to something whole."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.processes.command_line import Running, run_here

FILES = 500
PARTS = 3

COUNTS = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"
BROKEN = """
    SELECT (SELECT count(*) FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)),
           (SELECT count(*) FROM documents WHERE id NOT IN (SELECT document_id FROM chunks)),
           (SELECT count(*) FROM embedding_backlog WHERE chunk_id NOT IN (SELECT id FROM chunks))
"""


def counts(dsn: str, query: str = COUNTS) -> tuple[int, ...]:
    with psycopg.connect(dsn) as connection:
        return tuple(connection.execute(query).fetchone() or ())  # type: ignore[call-overload]


def test_a_backup_while_documents_are_stored(
    dsn: str, postgres_server: Any, make_database: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    for number in range(FILES):
        text = "\n\n".join(f"## Apartado {part}\n\n" + f"Pedido {number}, parte {part}. " * 40 for part in range(PARTS))
        (documents / f"{number}.md").write_text(text, encoding="utf-8")
    for name, value in (("DATABASE_URL", dsn), ("EMBEDDING_PROVIDER", "none")):
        monkeypatch.setenv(name, value)
    file = tmp_path / "during.ragcorp"
    running = Running.start("ingest", str(documents))
    try:
        while counts(dsn)[0] == 0:
            assert running.process.poll() is None, "it ended before the backup began"
            time.sleep(0.01)
        made = run_here("backup", str(file), "--json")
        assert made.code == 0, made.out
        assert running.process.wait(timeout=60) == 0
    finally:
        running.kill()
    assert counts(dsn)[0] == FILES
    assert 0 < made.json["rows"]["documents"] < FILES, "nothing was stored during the backup"

    name = make_database()
    copy = postgres_server.dsn(name)
    monkeypatch.setenv("DATABASE_URL", copy)
    monkeypatch.setenv("DATABASE_OWNER_URL", postgres_server.dsn(name, role="ragcorp_owner"))
    restored = run_here("restore", str(file))
    assert restored.code == 0, restored.err
    documents_there, chunks_there = counts(copy)
    assert (documents_there, chunks_there) == (made.json["rows"]["documents"], made.json["rows"]["chunks"])
    assert counts(copy, BROKEN) == (0, 0, 0)
