"""Checks of the database behind a network service: keys, row-level security, clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from ragcorp.infrastructure.postgres.administration.inspection import (
    IS_BOUND,
    OF_NO_WORKSPACE,
    UNPROTECTED,
    inspecting,
)
from ragcorp.infrastructure.postgres.administration.leakproof import statements, unmarked
from ragcorp.infrastructure.postgres.administration.row_level_security import IS_ON

KEYS = """
    SELECT count(*), count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
    FROM api_keys
"""

MOST_COUNTED = 10_000

PASSAGES = f"SELECT count(*) FROM (SELECT FROM chunks LIMIT {MOST_COUNTED}) AS counted"

NOW = "SELECT clock_timestamp()"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """Facts about the database of a service.

    ``row_level_security`` is False if it is off for every table, all of which are then ``unprotected``. ``unmarked``
    are statements for a superuser: without them conditions under policies use no index. ``passages`` are counted up to
    ``MOST_COUNTED``; ``skew_seconds`` is how far the database's clock is ahead of this machine's.
    """

    keys: int
    active_keys: int
    sees_every_row: bool
    unprotected: tuple[str, ...]
    row_level_security: bool
    unmarked: tuple[str, ...]
    passages: int
    skew_seconds: float


def inspect_service(dsn: str) -> ServiceFacts:
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
    return ServiceFacts(
        keys=keys,
        active_keys=active,
        sees_every_row=not is_bound,
        unprotected=unprotected,
        row_level_security=is_on,
        unmarked=left,
        passages=passages,
        skew_seconds=(there - here).total_seconds(),
    )
