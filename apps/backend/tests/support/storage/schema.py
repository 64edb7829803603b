"""The schema at the newest revision, as a golden file: ``tests/storage/schema.txt``.

After an intended change, ``UPDATE_SCHEMA=1 pytest tests/storage/migrations/test_migrations.py`` rewrites it; read the
difference.
"""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path

import psycopg

GOLDEN = Path(__file__).resolve().parents[2] / "storage" / "schema.txt"

OBJECTS = """
    SELECT c.relname, 1, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
           || CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || quote_ident(l.collname) ELSE '' END
           || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
           || CASE a.attidentity WHEN 'a' THEN ' IDENTITY ALWAYS' WHEN 'd' THEN ' IDENTITY' ELSE '' END
           || CASE WHEN d.adbin IS NULL THEN ''
                   WHEN a.attgenerated <> '' THEN ' GENERATED ' || pg_get_expr(d.adbin, d.adrelid)
                   ELSE ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_collation l ON l.oid = a.attcollation
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
    UNION ALL
    SELECT conrelid::regclass::text, 2, conname || ' ' || pg_get_constraintdef(oid)
    FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND conrelid <> 0 AND contype <> 'n'
    UNION ALL
    SELECT indrelid::regclass::text, 3, replace(pg_get_indexdef(indexrelid), 'public.', '')
    FROM pg_index
    WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
      AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))
      AND indexrelid::regclass::text !~ '_hnsw_'
    ORDER BY 1, 2, 3
"""
"""Columns, constraints and indexes, by table. HNSW indexes are left out: each model in use has its own."""


def schema_of(dsn: str) -> str:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(OBJECTS).fetchall()
    tables = groupby(sorted(rows), key=lambda row: row[0])
    return "\n".join(f"{table}\n" + "".join(f"  {text}\n" for *_, text in objects) for table, objects in tables)


def require_schema(dsn: str) -> None:
    """Assert that the database has exactly the schema of the golden file."""
    schema = schema_of(dsn)
    if os.environ.get("UPDATE_SCHEMA"):
        GOLDEN.write_text(schema, encoding="utf-8")
    assert schema == GOLDEN.read_text(encoding="utf-8")


def tables_of(schema: str, *, column: str = "") -> list[str]:
    """Return the tables of a schema that have the column."""
    blocks = schema.split("\n\n")
    return [block.split("\n", 1)[0].strip() for block in blocks if f"\n  {column}" in block]
