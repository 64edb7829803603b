"""The languages of a workspace's queries (migration 006)."""

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
        values = {"workspace": workspace, "default": default}
        rows = await self._database.fetch(QUERY_LANGUAGES, values, workspace=workspace)
        return tuple(rows[0][0]) if rows else (default,)

    async def set_default(self, workspace: str, language: str | None) -> None:
        """Set the language (ISO 639-1) that queries of the workspace are first read in; None: that of the settings."""
        statement = CLEAR_DEFAULT if language is None else SET_DEFAULT
        async with self._database.transaction(workspace) as connection:
            await connection.execute(statement, {"workspace": workspace, "language": language})
