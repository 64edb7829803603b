"""The port PageTexts over PostgreSQL: all spans in one statement."""

from collections.abc import Mapping, Sequence

from ragcorp.domain.ports.chunks import PagedText, PageSpan
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

PAGES = """
    SELECT s.n, d.page_starts[s.first : s.last],
           substr(d.text, d.page_starts[s.first] + 1,
                  coalesce(d.page_starts[s.last + 1], length(d.text)) - d.page_starts[s.first])
    FROM unnest(%(ids)s::uuid[], %(first)s::int[], %(last)s::int[]) WITH ORDINALITY AS s(id, first, last, n)
    JOIN documents d ON d.id = s.id
    WHERE d.deleted_at IS NULL AND s.last <= cardinality(d.page_starts) AND {condition}
"""
"""``page_starts`` are offsets from 0; PostgreSQL counts the elements and the characters from 1."""


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
