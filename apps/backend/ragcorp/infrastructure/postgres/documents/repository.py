"""The port DocumentRepository over PostgreSQL: finds chunks by vector, by words, by id and by position."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from ragcorp.domain.documents import Chunk
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import LexicalChunks, SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from ragcorp.domain.search.lexical import QueryTerm, TermKind, evidence_mass
from ragcorp.domain.search.requests import QuerySyntax, SparseOperator, SparseRanking
from ragcorp.domain.search.sources import ALL_WORDS, FULL_TEXT, IDENTIFIERS
from ragcorp.infrastructure.postgres.chunks import rows as chunk_rows
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense.search import VectorScan, find_similar
from ragcorp.infrastructure.postgres.lexical import bm25, full_text
from ragcorp.infrastructure.postgres.lexical.identifiers import query_identifiers, rank_by_identifiers
from ragcorp.infrastructure.postgres.lexical.readable_words import corrected
from ragcorp.infrastructure.postgres.tables.collections import CHUNKS
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, filtered, matching_documents, visibility
from ragcorp.infrastructure.postgres.workspaces.statistics_keeper import StatisticsKeeper


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalOptions:
    """Options of full-text search. ``budget``: the postings that BM25 reads for a query at most."""

    ranking: SparseRanking = SparseRanking.BM25
    operator: SparseOperator = SparseOperator.AND
    budget: int = bm25.BUDGET
    default_language: str = "es"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    """One query's predicates and values."""

    workspace: str
    visible: Predicate
    filtered: str | None
    matching: str | None
    limit: int
    values: Mapping[str, object]


class PostgresDocumentRepository:
    """Finds chunks in one round trip; by words in two (terms, then lists), or three if a word is misspelt."""

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
        self._statistics = statistics

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
        visible, narrowed = visibility(principal), filtered(filters)
        search = _Query(
            workspace=principal.workspace,
            visible=visible,
            filtered=narrowed.sql if narrowed.clauses else None,
            matching=matching_documents(principal, filters) if narrowed.clauses else None,
            limit=limit,
            values=visible.values
            | narrowed.values
            | {"query": query, "language": self._options.default_language, "workspace": principal.workspace},
        )

        async def work() -> LexicalChunks:
            terms, chunks, average_length = await self._terms(search)
            if syntax is QuerySyntax.WEBSEARCH or self._options.ranking is SparseRanking.TS_RANK_CD:
                result = _lexical_chunks(await self._by_cover_density(search, syntax))
            else:
                result = await self._by_bm25(search, terms, chunks)
            return replace(result, terms=terms, chunks=chunks, average_length=average_length)

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

    async def _terms(self, search: _Query) -> tuple[tuple[QueryTerm, ...], int, float]:
        async with self._database.autocommit(search.workspace) as connection:
            async with connection.pipeline():
                totals = await connection.execute(full_text.TOTALS, search.values, prepare=True)
                terms = await connection.execute(full_text.TERMS, search.values, prepare=True)
            total, rows = await totals.fetchone(), await terms.fetchall()
        chunks, average_length, is_stale = (total[0] or 0, total[1] or 0.0, total[2]) if total else (0, 0.0, False)
        if is_stale and self._statistics is not None:
            self._statistics.found_stale(search.workspace)
        rows = await corrected(self._database, rows, visible=search.visible, workspace=search.workspace)
        by_lexeme: dict[str, QueryTerm] = {}
        for word, lexeme, kind, frequency, typed, similarity in rows:
            # a lexeme that was also typed correctly counts in full
            if lexeme not in by_lexeme or by_lexeme[lexeme].similarity < similarity:
                by_lexeme[lexeme] = QueryTerm(
                    word=word,
                    lexeme=lexeme,
                    kind=TermKind(kind),
                    document_frequency=frequency,
                    idf=math.log(1 + (max(chunks, frequency) - frequency + 0.5) / (frequency + 0.5)),
                    typed=typed,
                    similarity=similarity,
                )
        return tuple(by_lexeme.values()), chunks, average_length

    async def _by_cover_density(self, search: _Query, syntax: QuerySyntax) -> RankedList:
        statement = full_text.ranked_by_cover_density(
            expression=full_text.tsquery(syntax=syntax, operator=self._options.operator),
            limit=search.limit,
            visible=search.visible.sql,
            filtered=search.filtered,
        )
        async with self._database.autocommit(search.workspace) as connection:
            cursor = await connection.execute(statement, search.values, prepare=True, binary=True)
            rows = await cursor.fetchall()
        return RankedList(
            source=FULL_TEXT,
            score_type=ScoreType.TS_RANK_CD,
            hits=tuple(Hit(chunk_id=str(chunk_id), score=score) for chunk_id, score in rows),
        )

    async def _by_bm25(self, search: _Query, terms: Sequence[QueryTerm], chunks: int) -> LexicalChunks:
        indexed = [term for term in terms if term.document_frequency]
        codes = query_identifiers(indexed, chunks)
        if not indexed:
            return _lexical_chunks(RankedList(source=FULL_TEXT, score_type=ScoreType.BM25))
        where = {"visible": search.visible.sql, "filtered": search.filtered}
        best = full_text.with_every_word(
            bm25.bm25_top(limit=search.limit, matching=search.matching, budget=self._options.budget, **where)
        )
        with_codes = bm25.chunks_holding(limit=search.limit, **where)
        values = {
            **search.values,
            "lexemes": [term.lexeme for term in indexed],
            "weights": [term.similarity for term in indexed],
            "theta": None,
        }
        async with self._database.autocommit(search.workspace) as connection:
            async with connection.pipeline():
                await connection.execute(bm25.SETTINGS, prepare=True)
                best_cursor = await connection.execute(best, values, prepare=True, binary=True)
                code_cursor = (
                    await connection.execute(
                        with_codes,
                        {**search.values, "lexemes": [code.lexeme for code in codes]},
                        prepare=True,
                        binary=True,
                    )
                    if codes
                    else None
                )
            rows = await best_cursor.fetchall()
            code_rows = await code_cursor.fetchall() if code_cursor else []
            attempt = 0
            certified = min(search.limit, bm25.CERTIFIED)
            while (theta := bm25.next_theta(rows, certified=certified, attempt=attempt)) is not None:
                attempt += 1
                async with connection.pipeline():
                    await connection.execute(bm25.SETTINGS, prepare=True)
                    best_cursor = await connection.execute(best, {**values, "theta": theta}, prepare=True, binary=True)
                rows = await best_cursor.fetchall()
        mass = evidence_mass(terms)
        ranked_rows = [row for row in rows if row[0] is not None]
        ranked = RankedList(
            source=FULL_TEXT,
            score_type=ScoreType.BM25,
            hits=tuple(
                Hit(chunk_id=str(row[0]), score=row[1], evidence=min(1.0, row[6] / mass) if mass else 0.0)
                for row in ranked_rows
            ),
        )
        with_every_word = sorted((-row[7], row[0]) for row in ranked_rows if row[7] is not None)
        return _lexical_chunks(
            ranked,
            identifiers=rank_by_identifiers(code_rows, codes, ranked),
            all_words=tuple(Hit(chunk_id=str(chunk_id), score=-negated) for negated, chunk_id in with_every_word),
            cut=bool(rows and rows[0][3]),
        )


def _lexical_chunks(
    ranked: RankedList, *, identifiers: tuple[Hit, ...] = (), all_words: tuple[Hit, ...] = (), cut: bool = False
) -> LexicalChunks:
    return LexicalChunks(
        ranked_list=ranked,
        identifiers=RankedList(source=IDENTIFIERS, score_type=ScoreType.IDENTIFIER_MATCH, hits=identifiers),
        all_words=RankedList(source=ALL_WORDS, score_type=ScoreType.TS_RANK_CD, hits=all_words),
        cut=cut,
    )
