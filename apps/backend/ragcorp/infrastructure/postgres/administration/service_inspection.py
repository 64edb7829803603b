"""Checks of the database behind a network service: keys, row-level security, clock."""

from datetime import UTC, datetime

from ragcorp.domain.diagnosis import NetworkFacts
from ragcorp.infrastructure.postgres.administration.inspection import IS_BOUND, OF_NO_WORKSPACE, UNPROTECTED, inspecting
from ragcorp.infrastructure.postgres.administration.leakproof import statements, unmarked
from ragcorp.infrastructure.postgres.administration.row_level_security import IS_ON

KEYS = """
    SELECT count(*), count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
    FROM api_keys
"""

MOST_COUNTED = 10_000

PASSAGES = f"SELECT count(*) FROM (SELECT FROM chunks LIMIT {MOST_COUNTED}) AS counted"

NOW = "SELECT clock_timestamp()"


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
        ((there,),) = connection.execute(NOW).fetchall()
        here = before + (datetime.now(UTC) - before) / 2
    return NetworkFacts(
        keys=keys,
        active_keys=active,
        sees_every_row=not is_bound,
        unprotected=unprotected,
        row_level_security=is_on,
        unmarked=left,
        passages=passages,
        skew_seconds=(there - here).total_seconds(),
    )
