"""The ports ChunkCatalogue and PageTexts over PostgreSQL."""

from collections.abc import Mapping, Sequence

from ragcorp.domain.documents import Chunk, Page
from ragcorp.domain.ports.chunks import ChunkPosition, ChunkSelection, PagedText, PageSpan
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.chunks import rows as chunk_rows
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, filtered, visibility

LIST_CHUNKS = f"""
    SELECT {chunk_rows.COLUMNS}
    FROM documents d JOIN chunks c ON c.document_id = d.id
    WHERE {{condition}}
    ORDER BY d.external_id, c.chunk_index
    LIMIT %(limit)s
"""
"""Keyset pages: the first condition on ``external_id`` uses the index of ``documents``."""

AFTER = "d.external_id >= %(after)s AND (d.external_id, c.chunk_index) > (%(after)s, %(after_index)s)"
PREFIX = "starts_with(d.external_id, %(prefix)s) AND d.external_id >= %(prefix)s"
ARTIFACT = "d.external_id = %(artifact)s"
LINES = "c.line_start <= %(last_line)s AND c.line_end >= %(first_line)s"


PAGES = """
    SELECT s.n, d.page_starts[s.first : s.last],
           substr(d.text, d.page_starts[s.first] + 1,
                  coalesce(d.page_starts[s.last + 1], length(d.text)) - d.page_starts[s.first])
    FROM unnest(%(ids)s::uuid[], %(first)s::int[], %(last)s::int[]) WITH ORDINALITY AS s(id, first, last, n)
    JOIN documents d ON d.id = s.id
    WHERE d.deleted_at IS NULL AND s.last <= cardinality(d.page_starts) AND {condition}
"""
"""``page_starts`` are offsets from 0; PostgreSQL counts the elements and the characters from 1."""


class PostgresChunkCatalogue:
    """Lists the rows of ``chunks``."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def list_page(
        self, selection: ChunkSelection, *, principal: Principal, limit: int, after: ChunkPosition | None = None
    ) -> Page[Chunk, ChunkPosition]:
        # also on documents: the planner then reads them first, in order
        selected = visibility(principal, alias="d") & visibility(principal)
        selected &= filtered(selection.filters, alias="c", documents_alias="d")
        if selection.prefix:
            selected &= Predicate.of(PREFIX, prefix=selection.prefix)
        if selection.artifact is not None:
            selected &= Predicate.of(ARTIFACT, artifact=selection.artifact)
        if selection.lines is not None:
            selected &= Predicate.of(LINES, first_line=selection.lines[0], last_line=selection.lines[1])
        if after is not None:
            selected &= Predicate.of(AFTER, after=after[0], after_index=after[1])
        rows = await self._database.fetch(*selected.bind(LIST_CHUNKS, limit=limit + 1), workspace=principal.workspace)
        chunks = tuple(chunk_rows.chunk(row) for row in rows[:limit])
        last = chunks[-1] if len(rows) > limit else None
        return Page(items=chunks, next_after=(last.external_id, last.chunk_index) if last else None)


class PostgresPageTexts:
    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def read(self, spans: Sequence[PageSpan], *, principal: Principal) -> Mapping[PageSpan, PagedText]:
        statement = visibility(principal, alias="d").bind(
            PAGES,
            ids=[span.document_id for span in spans],
            first=[span.first for span in spans],
            last=[span.last for span in spans],
        )
        rows = await self._database.fetch(*statement, workspace=principal.workspace)
        return {
            spans[n - 1]: PagedText(text=text, starts=tuple(start - starts[0] for start in starts))
            for n, starts, text in rows
        }
