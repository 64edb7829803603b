"""Inspects a database, as the application role and for a network service; read-only."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from ragcorp.domain.diagnosis import Contents, NetworkFacts, SearchFacts, ServerFacts, StoredModel
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.administration.leakproof import statements, unmarked
from ragcorp.infrastructure.postgres.administration.migrations import VERSION
from ragcorp.infrastructure.postgres.administration.row_level_security import IS_ON
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database, of_every_workspace
from ragcorp.infrastructure.postgres.connections.errors import translate
from ragcorp.infrastructure.postgres.connections.indexes import INVALID_INDEXES_IN_USE
from ragcorp.infrastructure.postgres.models.embedding_models import BACKLOG_TABLES, has_vectors

CONNECT_TIMEOUT_SECONDS = 5

SERVER = """
    SELECT current_setting('server_version'), current_setting('server_version_num')::int,
        (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
        EXISTS (SELECT 1 FROM pg_ts_config WHERE cfgname = 'spanish')
"""

WAITING = " UNION ALL ".join(f"SELECT failed FROM {table}" for table in BACKLOG_TABLES)

CONTENTS = f"""
    SELECT (SELECT count(*) FROM documents WHERE deleted_at IS NULL),
        (SELECT count(*) FROM chunks),
        count(*), count(*) FILTER (WHERE failed)
    FROM ({WAITING}) AS waiting
"""

STORED_MODEL = f"""
    SELECT name, dimensions, {has_vectors("embedding_models.id")} FROM embedding_models WHERE active
"""

STALE_STATISTICS = """
    SELECT workspace FROM search_statistics WHERE frequencies_are_stale OR lexicon_is_stale ORDER BY workspace
"""

IS_BOUND = """
    SELECT NOT EXISTS (
        SELECT FROM pg_roles r
        WHERE (r.rolsuper OR r.rolbypassrls) AND pg_has_role(current_user, r.oid, 'MEMBER'))
"""

OF_NO_WORKSPACE = ("alembic_version", "embedding_models", "item_name_key", "key_secret")
"""Tables without rows of a workspace; they have no policy."""

UNPROTECTED = """
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'documents'::regclass)
      AND c.relkind IN ('r', 'p') AND c.relname <> ALL (%s)
      AND NOT (c.relrowsecurity AND c.relforcerowsecurity
               AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid))
    ORDER BY c.relname
"""

KEYS = """
    SELECT count(*), count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
    FROM api_keys
"""

MOST_COUNTED = 10_000

PASSAGES = f"SELECT count(*) FROM (SELECT FROM chunks LIMIT {MOST_COUNTED}) AS counted"

NOW = "SELECT clock_timestamp()"

SEARCH_FACTS = f"""
    SELECT ({VERSION}),
        ARRAY(SELECT dimensions FROM embedding_models WHERE name = %(name)s),
        ARRAY({INVALID_INDEXES_IN_USE})::text[],
        EXISTS (SELECT 1 FROM pg_ts_config WHERE cfgname = 'spanish')
"""


def inspect_server(dsn: str) -> ServerFacts:
    """Raises ConfigurationError or StorageUnavailableError. Blocking."""
    with inspecting(dsn) as connection:
        ((version, number, vector, has_spanish),) = connection.execute(SERVER).fetchall()
    return ServerFacts(version=version, version_number=number, vector=vector, has_spanish=has_spanish)


def inspect_contents(dsn: str) -> Contents:
    """Inspect a database at this version's schema. Raises as ``inspect_server``. Blocking."""
    with inspecting(dsn) as connection:
        ((documents, chunks, pending, failed),) = connection.execute(CONTENTS).fetchall()
        model = connection.execute(STORED_MODEL).fetchone()
        invalid = tuple(row[0] for row in connection.execute(INVALID_INDEXES_IN_USE).fetchall())
        stale = tuple(row[0] for row in connection.execute(STALE_STATISTICS).fetchall())
    return Contents(
        documents=documents,
        chunks=chunks,
        pending=pending,
        failed=failed,
        invalid_indexes=invalid,
        stale_statistics=stale,
        model=StoredModel(name=model[0], dimensions=model[1], has_vectors=model[2]) if model else None,
    )


def inspect_service(dsn: str) -> NetworkFacts:
    """Inspect a database at this version's schema. Raises as ``inspect_server``. Blocking."""
    with inspecting(dsn) as connection:
        ((keys, active),) = connection.execute(KEYS).fetchall()
        ((is_bound,),) = connection.execute(IS_BOUND).fetchall()
        unprotected = tuple(row[0] for row in connection.execute(UNPROTECTED, (list(OF_NO_WORKSPACE),)).fetchall())
        left = tuple(statements(unmarked(connection)))
        ((is_on,),) = connection.execute(IS_ON).fetchall()
        ((passages,),) = connection.execute(PASSAGES).fetchall()
        before = datetime.now(UTC)
        ((server_time,),) = connection.execute(NOW).fetchall()
        own_time = before + (datetime.now(UTC) - before) / 2
    return NetworkFacts(
        keys=keys,
        active_keys=active,
        sees_every_row=not is_bound,
        unprotected=unprotected,
        row_level_security=is_on,
        unmarked=left,
        passages=passages,
        skew_seconds=(server_time - own_time).total_seconds(),
    )


def role_is_bound(dsn: str) -> bool:
    """Return whether policies apply to the role of ``dsn``: it neither is, nor can become, superuser or BYPASSRLS.

    They also apply to an owner, since row-level security is forced. Raises as ``inspect_server``. Blocking.
    """
    with inspecting(dsn) as connection:
        ((bound,),) = connection.execute(IS_BOUND).fetchall()
    return bool(bound)


@contextmanager
def inspecting(dsn: str) -> Iterator[Connection[TupleRow]]:
    """Connect for the block, and translate the driver's errors."""
    try:
        with psycopg.connect(
            of_every_workspace(dsn), connect_timeout=CONNECT_TIMEOUT_SECONDS, application_name="ragcorp"
        ) as connection:
            yield connection
    except psycopg.Error as error:
        raise translate(error) from error


async def search_facts(database: Database, *, model: EmbeddingModel) -> SearchFacts:
    """Raises StorageUnavailableError, with reason ``schema`` for a database without a schema."""
    rows = await database.fetch(SEARCH_FACTS, {"name": model.name}, workspace=EVERY_WORKSPACE)
    revision, widths, invalid, has_spanish = rows[0] if rows else (None, [], [], False)
    return SearchFacts(
        revision=revision, widths=tuple(widths), invalid_indexes=tuple(invalid), has_spanish=bool(has_spanish)
    )
