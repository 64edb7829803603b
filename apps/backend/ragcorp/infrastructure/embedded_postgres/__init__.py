"""A PostgreSQL of our own, started on demand for one data folder and shared by every process that uses it."""

from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres, EmbeddedServer
from ragcorp.infrastructure.embedded_postgres.status import EmbeddedStatus, status

__all__ = ["EmbeddedPostgres", "EmbeddedServer", "EmbeddedStatus", "status"]
