"""The rows of other libraries' tables: those of ragcorp's, copied inside the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

DIMENSIONS = 384

VIEW = f"""
    CREATE SCHEMA IF NOT EXISTS side_by_side;
    CREATE OR REPLACE VIEW side_by_side.rows AS
    SELECT c.id, c.content, c.chunk_index, d.external_id AS source, e.embedding::vector({DIMENSIONS}) AS embedding
    FROM chunks c JOIN documents d ON d.id = c.document_id JOIN chunk_embeddings e ON e.chunk_id = c.id
    WHERE e.model_id = (SELECT id FROM embedding_models WHERE active)
    ORDER BY c.id
"""


@contextmanager
def filling(dsn: str, table: str) -> Iterator[Any]:
    """Yield a connection to fill the table by, or None if an earlier run has filled it; analyse it at the end."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(VIEW)
        name = f"side_by_side.{table}"
        mark = connection.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [name]).fetchone()
        if mark == ("filled",):
            yield None
            return
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        yield connection
        connection.execute(f"VACUUM ANALYZE {name}")
        connection.execute(f"COMMENT ON TABLE {name} IS 'filled'")


def url(dsn: str, *, driver: str) -> str:
    """Return the DSN as SQLAlchemy writes it."""
    parts = conninfo_to_dict(dsn)
    host, port = str(parts.get("host", "localhost")), str(parts.get("port", 5432))
    where, options = ("", {"host": host, "port": port}) if host.startswith("/") else (f"{host}:{port}", {})
    user = f"{quote(str(parts['user']))}:{quote(str(parts.get('password', '')))}"
    return f"postgresql+{driver}://{user}@{where}/{parts['dbname']}" + (f"?{urlencode(options)}" if options else "")
