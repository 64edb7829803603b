"""The rendered text of the long statements, as golden files that explain them.

The files are ``tests/storage/statements/*.sql``: comments, then the statement. After an intended change,
``UPDATE_STATEMENTS=1 pytest tests/storage/unit/test_rendered_statements.py`` rewrites them; read the difference, and
check the plans that the comments name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from ragcorp.domain.filters import Condition
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.collections.statements import matching
from ragcorp.infrastructure.postgres.dense.statements import similar
from ragcorp.infrastructure.postgres.lexical.bm25 import bm25_top
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACTS, CHUNKS, MEMORY, CollectionTable
from ragcorp.infrastructure.postgres.visibility.predicates import filtered, matching_documents, visibility

FOLDER = Path(__file__).resolve().parents[1] / "statements"
PRINCIPAL = Principal()
SPANISH = (Condition(name="language", values=("es",)),)
CLAUSES = "WITH|SELECT|FROM|WHERE|LEFT JOIN|CROSS JOIN|JOIN|UNION ALL|ORDER BY|GROUP BY|LIMIT"
BREAKS = re.compile(rf"(?<![\w\"'])({CLAUSES}|\w+ AS MATERIALIZED|\w+ AS(?= \())(?=[\s(])|[()]")


def dense(table: CollectionTable, *, narrowed: bool) -> str:
    return similar(
        table,
        model_id=1,
        dimensions=384,
        limit=100,
        visible=table.visible(PRINCIPAL).sql,
        filtered=table.narrowed(SPANISH).sql if narrowed else None,
        matching=matching_documents(PRINCIPAL, SPANISH) if narrowed and table is CHUNKS else None,
    )


def sparse(table: CollectionTable) -> str:
    visible, chunks = table.visible(PRINCIPAL).sql, visibility(PRINCIPAL).sql
    return matching(table, limit=100, visible=visible, visible_chunk=chunks, filtered=table.narrowed(SPANISH).sql)


STATEMENTS = {
    "dense_chunks": dense(CHUNKS, narrowed=False),
    "dense_chunks_filtered": dense(CHUNKS, narrowed=True),
    "dense_documents": dense(ARTIFACTS, narrowed=False),
    "dense_memory_filtered": dense(MEMORY, narrowed=True),
    "bm25_chunks_filtered": bm25_top(
        limit=100,
        visible=visibility(PRINCIPAL).sql,
        filtered=filtered(SPANISH).sql,
        matching=matching_documents(PRINCIPAL, SPANISH),
    ),
    "bm25_memory_filtered": sparse(MEMORY),
}


def laid_out(statement: str) -> str:
    """Return the statement with a line per clause, indented by its parentheses."""
    lines, depth, position = [""], 0, 0
    for results in BREAKS.finditer(statement):
        lines[-1] += statement[position : results.start()]
        position = results.end()
        if results[0] in "()":
            lines[-1] += results[0]
            depth += 1 if results[0] == "(" else -1
        else:
            lines.append("  " * depth + results[0])
    lines[-1] += statement[position:]
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"


def comments(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if line.startswith("--"))


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_rendered_statement_is_the_golden_one(name: str) -> None:
    path = FOLDER / f"{name}.sql"
    stored = path.read_text(encoding="utf-8") if path.exists() else ""
    assert comments(stored), f"explain {name} in comments"
    rendered = comments(stored) + laid_out(STATEMENTS[name])
    if os.environ.get("UPDATE_STATEMENTS"):
        path.write_text(rendered, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == rendered


def test_every_golden_file_has_a_statement() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(STATEMENTS)
