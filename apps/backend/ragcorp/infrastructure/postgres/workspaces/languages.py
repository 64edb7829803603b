"""The languages that a workspace's queries are read in (migration 006)."""

from __future__ import annotations

from psycopg.rows import TupleRow

from ragcorp.infrastructure.postgres.connections.database import Database

QUERY_LANGUAGES = "SELECT query_languages(%(workspace)s, %(default)s)"

SET_DEFAULT = """
    INSERT INTO default_languages (workspace, language) VALUES (%(workspace)s, %(language)s)
    ON CONFLICT (workspace) DO UPDATE SET language = excluded.language
"""

CLEAR_DEFAULT = "DELETE FROM default_languages WHERE workspace = %(workspace)s"


class WorkspaceLanguages:
    """The operator's choice of a language, then those that its chunks are in."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def query_languages(self, workspace: str, *, default: str) -> tuple[str, ...]:
        """Return the workspace's default language, else ``default``, then the others that its chunks are in."""

        async def work() -> TupleRow | None:
            async with self._database.autocommit(workspace) as connection:
                return await (
                    await connection.execute(QUERY_LANGUAGES, {"workspace": workspace, "default": default})
                ).fetchone()

        row = await self._database.read(work)
        return tuple(row[0]) if row else (default,)

    async def set_default(self, workspace: str, language: str | None) -> None:
        """Set the language (ISO 639-1) that queries of the workspace are first read in; None: that of the settings."""
        statement = CLEAR_DEFAULT if language is None else SET_DEFAULT
        async with self._database.driver_transaction(workspace) as connection:
            await connection.execute(statement, {"workspace": workspace, "language": language})
