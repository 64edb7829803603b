"""Full-text search over the chunks: one round trip, more for codes, misspelt words and lists still to be proven."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from psycopg.rows import TupleRow

from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import LexicalChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType, chunk_hits
from ragcorp.domain.search.lexical import QueryTerm, TermKind, evidence_mass
from ragcorp.domain.search.requests import QuerySyntax, SparseOperator, SparseRanking
from ragcorp.domain.search.sources import ALL_WORDS, FULL_TEXT, IDENTIFIERS
from ragcorp.infrastructure.postgres.connections.database import PooledConnection
from ragcorp.infrastructure.postgres.connections.statement_text import Statement
from ragcorp.infrastructure.postgres.lexical import bm25, full_text
from ragcorp.infrastructure.postgres.lexical.identifiers import query_identifiers, rank_by_identifiers
from ragcorp.infrastructure.postgres.lexical.readable_words import corrected
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, filtered, matching_documents, visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalOptions:
    """Options of full-text search. ``budget``: the postings that BM25 reads for a query at most."""

    ranking: SparseRanking = SparseRanking.BM25
    operator: SparseOperator = SparseOperator.AND
    budget: int = bm25.BUDGET
    default_language: str = "es"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """The terms of a query; the workspace has ``chunks`` chunks of ``average_length`` lexemes on average."""

    terms: tuple[QueryTerm, ...]
    chunks: int
    average_length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalSearch:
    """One query over the chunks: ``opening`` is the first round trip; ``finish`` reads its rows.

    ``found_stale`` is called with the workspace if its search statistics are outdated.
    """

    options: LexicalOptions
    syntax: QuerySyntax
    limit: int
    visible: Predicate
    filtered: str | None
    matching: str | None
    values: Mapping[str, object]
    found_stale: Callable[[str], None] | None

    @classmethod
    def of(
        cls,
        query: str,
        *,
        principal: Principal,
        filters: Filters,
        limit: int,
        syntax: QuerySyntax,
        options: LexicalOptions,
        found_stale: Callable[[str], None] | None = None,
    ) -> "LexicalSearch":
        visible, narrowed = visibility(principal), filtered(filters)
        values = {"query": query, "language": options.default_language, "workspace": principal.workspace}
        return cls(
            options=options,
            syntax=syntax,
            limit=limit,
            visible=visible,
            filtered=narrowed.sql if narrowed.clauses else None,
            matching=matching_documents(principal, filters) if narrowed.clauses else None,
            values={**visible.values, **narrowed.values, **values, "weights": None, "theta": None},
            found_stale=found_stale,
        )

    @property
    def opening(self) -> Sequence[Statement]:
        """The statements of the first round trip: terms and totals, with the ranking by the terms as typed."""
        if self._by_cover_density:
            return [(full_text.TOTALS, self.values), (full_text.TERMS, self.values), (self._cover_density, self.values)]
        return [(full_text.ranked_by_typed_words(self._best), self.values)]

    async def finish(self, connection: PooledConnection, opened: Sequence[Sequence[TupleRow]]) -> LexicalChunks:
        """Return the lists. Codes, misspelt words and unproven lists take a round trip each."""
        if self._by_cover_density:
            totals, rows, scored = opened
            chunks, average_length, is_stale = totals[0] if totals else (0, 0.0, False)
            self._note(is_stale)
            terms = _terms(await self._corrected(connection, rows), chunks, average_length)
            hits = chunk_hits([row[0] for row in scored], [row[1] for row in scored])
            return _lexical_chunks(_list(FULL_TEXT, ScoreType.TS_RANK_CD, hits), terms)
        chunks, average_length, is_stale, typed, ranking = full_text.typed_words_and_ranking(opened[0][0])
        self._note(is_stale)
        rows = await self._corrected(connection, typed)
        terms = _terms(rows, chunks, average_length)
        indexed = [term for term in terms.terms if term.document_frequency]
        if not indexed:
            return _lexical_chunks(_list(FULL_TEXT, ScoreType.BM25), terms)
        return await self._by_bm25(connection, terms, indexed, ranking if rows is typed else None)

    def _note(self, is_stale: bool) -> None:
        if is_stale and self.found_stale is not None:
            self.found_stale(str(self.values["workspace"]))

    @property
    def _by_cover_density(self) -> bool:
        return self.syntax is QuerySyntax.WEBSEARCH or self.options.ranking is SparseRanking.TS_RANK_CD

    @property
    def _cover_density(self) -> str:
        return full_text.ranked_by_cover_density(
            expression=full_text.tsquery(syntax=self.syntax, operator=self.options.operator),
            limit=self.limit,
            visible=self.visible.sql,
            filtered=self.filtered,
        )

    @property
    def _best(self) -> str:
        return bm25.bm25_top(
            limit=self.limit,
            visible=self.visible.sql,
            filtered=self.filtered,
            matching=self.matching,
            every_word=full_text.EVERY_WORD,
            budget=self.options.budget,
        )

    async def _corrected(self, connection: PooledConnection, rows: Sequence[TupleRow]) -> Sequence[TupleRow]:
        return await corrected(connection, rows, visible=self.visible)

    async def _by_bm25(
        self,
        connection: PooledConnection,
        terms: _Terms,
        indexed: Sequence[QueryTerm],
        ranking: Sequence[TupleRow] | None,
    ) -> LexicalChunks:
        """Return the lists. ``ranking``: the first rows of ``_best``, None if words were corrected since."""
        values = {
            **self.values,
            "lexemes": [term.lexeme for term in indexed],
            "weights": [term.similarity for term in indexed],
        }
        codes = query_identifiers(indexed, terms.chunks)
        wanted: list[Statement] = [] if ranking is not None else [(self._best, values)]
        if codes:
            holding = bm25.chunks_holding(limit=self.limit, visible=self.visible.sql, filtered=self.filtered)
            wanted.append((holding, {**self.values, "lexemes": [code.lexeme for code in codes]}))
        found = await self._fetch(connection, *wanted) if wanted else []
        rows = found[0] if ranking is None else ranking
        certified, attempt = min(self.limit, bm25.CERTIFIED), 0
        while (theta := bm25.next_theta(rows, certified=certified, attempt=attempt)) is not None:
            attempt += 1
            (rows,) = await self._fetch(connection, (self._best, {**values, "theta": theta}))
        mass = evidence_mass(terms.terms)
        ranked_rows = [row for row in rows if row[0] is not None]
        ranked = _list(
            FULL_TEXT,
            ScoreType.BM25,
            chunk_hits(
                [row[0] for row in ranked_rows],
                [row[1] for row in ranked_rows],
                [min(1.0, row[6] / mass) if mass else 0.0 for row in ranked_rows],
            ),
        )
        with_every_word = sorted([(-row[7], row[0]) for row in ranked_rows if row[7] is not None])
        return _lexical_chunks(
            ranked,
            terms,
            identifiers=rank_by_identifiers(found[-1] if codes else [], codes, ranked),
            all_words=chunk_hits([row[1] for row in with_every_word], [-row[0] for row in with_every_word]),
            cut=bool(rows and rows[0][3]),
        )

    async def _fetch(self, connection: PooledConnection, *statements: Statement) -> list[list[TupleRow]]:
        return await connection.fetch_together(statements, settings=(bm25.SETTINGS, {}))


def _terms(rows: Sequence[TupleRow], chunks: int | None, average_length: float | None) -> _Terms:
    """Return the terms of rows of ``TERMS`` and ``TOTALS``."""
    by_lexeme: dict[str, QueryTerm] = {}
    for word, lexeme, kind, frequency, typed, similarity in rows:
        # a lexeme that was also typed correctly counts in full
        if lexeme not in by_lexeme or by_lexeme[lexeme].similarity < similarity:
            by_lexeme[lexeme] = QueryTerm(
                word=word,
                lexeme=lexeme,
                kind=TermKind(kind),
                document_frequency=frequency,
                idf=math.log(1 + (max(chunks or 0, frequency) - frequency + 0.5) / (frequency + 0.5)),
                typed=typed,
                similarity=similarity,
            )
    return _Terms(terms=tuple(by_lexeme.values()), chunks=chunks or 0, average_length=average_length or 0.0)


def _list(source: str, score_type: str, hits: tuple[Hit, ...] = ()) -> RankedList:
    return RankedList(source=source, score_type=score_type).with_hits(hits)


def _lexical_chunks(
    ranked: RankedList,
    terms: _Terms,
    *,
    identifiers: tuple[Hit, ...] = (),
    all_words: tuple[Hit, ...] = (),
    cut: bool = False,
) -> LexicalChunks:
    return LexicalChunks(
        ranked_list=ranked,
        identifiers=_list(IDENTIFIERS, ScoreType.IDENTIFIER_MATCH, identifiers),
        all_words=_list(ALL_WORDS, ScoreType.TS_RANK_CD, all_words),
        terms=terms.terms,
        chunks=terms.chunks,
        average_length=terms.average_length,
        cut=cut,
    )
