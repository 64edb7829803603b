"""The port ChunkCatalogue over PostgreSQL."""

from ragcorp.domain.documents import Chunk, Page
from ragcorp.domain.ports.chunks import ChunkPosition, ChunkSelection
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.chunks import rows as chunk_rows
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.visibility.predicates import filtered, visibility

LIST_CHUNKS = f"""
    SELECT {chunk_rows.COLUMNS}
    FROM documents d JOIN chunks c ON c.document_id = d.id
    WHERE {{conditions}}
    ORDER BY d.external_id, c.chunk_index
    LIMIT %(limit)s
"""
"""Keyset pages: the first condition on ``external_id`` uses the index of ``documents``."""

AFTER = "d.external_id >= %(after)s AND (d.external_id, c.chunk_index) > (%(after)s, %(after_index)s)"
PREFIX = "starts_with(d.external_id, %(prefix)s) AND d.external_id >= %(prefix)s"
ARTIFACT = "d.external_id = %(artifact)s"
LINES = "c.line_start <= %(last_line)s AND c.line_end >= %(first_line)s"


class PostgresChunkCatalogue:
    """Lists the rows of ``chunks``."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def list_page(
        self, selection: ChunkSelection, *, principal: Principal, limit: int, after: ChunkPosition | None = None
    ) -> Page[Chunk, ChunkPosition]:
        # also on documents: the planner then reads them first, in order
        visible, of_documents = visibility(principal), visibility(principal, alias="d")
        narrowed = filtered(selection.filters, alias="c", documents_alias="d")
        conditions = [*of_documents.clauses, *visible.clauses, *narrowed.clauses]
        values: dict[str, object] = visible.values | narrowed.values | {"limit": limit + 1}
        if selection.prefix:
            conditions.append(PREFIX)
            values["prefix"] = selection.prefix
        if selection.artifact is not None:
            conditions.append(ARTIFACT)
            values["artifact"] = selection.artifact
        if selection.lines is not None:
            conditions.append(LINES)
            values["first_line"], values["last_line"] = selection.lines
        if after is not None:
            conditions.append(AFTER)
            values["after"], values["after_index"] = after
        statement = LIST_CHUNKS.format(conditions=" AND ".join(conditions))
        rows = await self._database.fetch(statement, values, workspace=principal.workspace)
        chunks = tuple(chunk_rows.chunk(row) for row in rows[:limit])
        last = chunks[-1] if len(rows) > limit else None
        return Page(items=chunks, next_after=(last.external_id, last.chunk_index) if last else None)
