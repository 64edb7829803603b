"""An embedded PostgreSQL, started on demand for one data folder and shared by all its processes."""

from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres, EmbeddedServer
from ragcorp.infrastructure.embedded_postgres.status import EmbeddedStatus, status

__all__ = ["EmbeddedPostgres", "EmbeddedServer", "EmbeddedStatus", "status"]
