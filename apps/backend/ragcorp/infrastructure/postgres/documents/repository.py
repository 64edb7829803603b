"""The ports DocumentRepository and HybridChunks: find chunks by vector, by words, by both, by id and by position."""

from collections.abc import Sequence
from uuid import UUID

from ragcorp.domain.documents import Chunk
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import LexicalChunks, SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import QuerySyntax
from ragcorp.infrastructure.postgres.chunks import rows as chunk_rows
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense.search import SimilaritySearch, VectorScan, find_similar
from ragcorp.infrastructure.postgres.lexical import bm25
from ragcorp.infrastructure.postgres.lexical.search import LexicalOptions, LexicalSearch
from ragcorp.infrastructure.postgres.tables.collections import CHUNKS
from ragcorp.infrastructure.postgres.visibility.predicates import visibility
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper


class PostgresDocumentRepository:
    """Finds chunks in one round trip, by words in one more if the query has a code or a misspelt word."""

    def __init__(
        self,
        database: Database,
        *,
        scan: VectorScan,
        options: LexicalOptions | None = None,
        statistics: StatisticsKeeper | None = None,
    ) -> None:
        self._database = database
        self._scan = scan
        self._options = options or LexicalOptions()
        self._found_stale = statistics.found_stale if statistics else None

    async def find_similar_chunks(
        self, embedding: Vector, *, principal: Principal, filters: Filters = (), limit: int
    ) -> SimilarChunks:
        return await find_similar(
            self._database, embedding, table=CHUNKS, scan=self._scan, principal=principal, filters=filters, limit=limit
        )

    async def find_chunks_full_text(
        self,
        query: str,
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        syntax: QuerySyntax = QuerySyntax.PLAIN,
    ) -> LexicalChunks:
        search = LexicalSearch.of(
            query,
            principal=principal,
            filters=filters,
            limit=limit,
            syntax=syntax,
            options=self._options,
            found_stale=self._found_stale,
        )

        async def work() -> LexicalChunks:
            async with self._database.autocommit(principal.workspace) as connection:
                opened = await connection.fetch_together(search.opening, settings=(bm25.SETTINGS, {}))
                return await search.finish(connection, opened)

        return await self._database.read(work)

    async def find_chunks_both_ways(
        self,
        query: str,
        embedding: Vector,
        *,
        principal: Principal,
        filters: Filters = (),
        nearest: int,
        matching: int,
        syntax: QuerySyntax = QuerySyntax.PLAIN,
    ) -> tuple[SimilarChunks, LexicalChunks]:
        words = LexicalSearch.of(
            query,
            principal=principal,
            filters=filters,
            limit=matching,
            syntax=syntax,
            options=self._options,
            found_stale=self._found_stale,
        )
        vectors = SimilaritySearch.of(
            embedding, table=CHUNKS, scan=self._scan, principal=principal, filters=filters, limit=nearest
        )

        nearest_to = [] if vectors.statement is None else [vectors.statement]

        async def work() -> tuple[SimilarChunks, LexicalChunks]:
            async with self._database.autocommit(principal.workspace) as connection:
                rows = await connection.fetch_together(
                    [*words.opening, *nearest_to], settings=vectors.settings or (bm25.SETTINGS, {})
                )
                opened, similar = rows[: len(words.opening)], rows[len(words.opening) :]
                return vectors.read(similar[0] if similar else ()), await words.finish(connection, opened)

        return await self._database.read(work)

    async def get_chunks(self, chunk_ids: Sequence[str], *, principal: Principal) -> dict[str, Chunk]:
        by_id = visibility(principal).bind(chunk_rows.CHUNKS_BY_ID, ids=chunk_rows.database_ids(chunk_ids))
        rows = await self._database.fetch(*by_id, workspace=principal.workspace)
        return {str(row[0]): chunk_rows.chunk(row) for row in rows}

    async def find_chunk_ids(
        self, positions: Sequence[tuple[UUID, int]], *, principal: Principal
    ) -> dict[tuple[UUID, int], str]:
        by_position = visibility(principal).bind(
            chunk_rows.CHUNK_IDS_BY_POSITION,
            document_ids=[document_id for document_id, _ in positions],
            indexes=[index for _, index in positions],
        )
        rows = await self._database.fetch(*by_position, workspace=principal.workspace)
        return {(row[0], row[1]): str(row[2]) for row in rows}
