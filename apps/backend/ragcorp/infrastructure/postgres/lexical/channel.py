"""Finds chunks by the words of a query: the sparse ranking, exact identifiers, and chunks that hold every word."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from psycopg.rows import TupleRow

from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import LexemeCounts, LexicalChunks, VisibleFrequencies
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from ragcorp.domain.search.lexical import QueryTerm, TermKind
from ragcorp.domain.search.lexical_scores import evidence_mass
from ragcorp.domain.search.requests import QuerySyntax, SparseOperator, SparseRanking
from ragcorp.domain.search.sources import ALL_WORDS, FULL_TEXT, IDENTIFIERS
from ragcorp.infrastructure.postgres.chunks.ids import database_ids
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.lexical import bm25, full_text
from ragcorp.infrastructure.postgres.lexical.readable_words import ReadableWords
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate, filtered, matching_documents, visibility

CODE = re.compile(r"[\d@/:]")
"""What makes a compound a code: letters joined by a dash are words."""

FEW, FEW_SHARE = 20, 0.01
"""Chunks that may hold an identifier: so many, or so large a share of the workspace."""

OTHERWISE_WRITTEN = 0.5

MAX_TF = 15
"""What a posting can tell; 15 stands for 15 and more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalOptions:
    """How words are looked for. ``budget``: postings that BM25 reads for a query before it is cut short."""

    ranking: SparseRanking = SparseRanking.BM25
    operator: SparseOperator = SparseOperator.AND
    budget: int = bm25.BUDGET
    default_language: str = "es"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One query's predicates and values."""

    workspace: str
    visible: Predicate
    narrowed: Predicate
    matching: str | None
    limit: int
    values: Mapping[str, object]

    @property
    def filtered(self) -> str | None:
        return self.narrowed.sql if self.narrowed.clauses else None


class LexicalChannel:
    """Two round trips a query: its terms, then the lists, pipelined on one connection; one more for misspelt words."""

    def __init__(self, database: Database, *, options: LexicalOptions) -> None:
        self._database = database
        self._options = options
        self._words = ReadableWords(database)

    async def find(
        self, query: str, *, principal: Principal, filters: Filters, limit: int, syntax: QuerySyntax
    ) -> LexicalChunks:
        visible, narrowed = visibility(principal), filtered(filters)
        look = _Look(
            workspace=principal.workspace,
            visible=visible,
            narrowed=narrowed,
            matching=matching_documents(principal, filters) if narrowed.clauses else None,
            limit=limit,
            values=visible.values
            | narrowed.values
            | {"query": query, "language": self._options.default_language, "workspace": principal.workspace},
        )

        async def work() -> LexicalChunks:
            terms, chunks, average_length = await self._terms(look)
            if syntax is QuerySyntax.WEBSEARCH or self._options.ranking is SparseRanking.TS_RANK_CD:
                found = _found(await self._by_cover_density(look, syntax))
            else:
                found = await self._by_bm25(look, terms, chunks)
            return replace(found, terms=terms, chunks=chunks, average_length=average_length)

        return await self._database.read(work)

    async def admitted(self, query: str, chunk_ids: Sequence[str], *, principal: Principal) -> frozenset[str]:
        visible = visibility(principal)
        values = visible.values | {"query": query, "ids": database_ids(chunk_ids)}

        async def work() -> list[TupleRow]:
            async with self._database.autocommit(principal.workspace) as connection:
                return await (await connection.execute(full_text.admitted(visible=visible.sql), values)).fetchall()

        return frozenset(str(row[0]) for row in await self._database.read(work))

    async def counts(
        self, lexemes: Sequence[str], chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, LexemeCounts]:
        visible = visibility(principal)
        statement = full_text.lexeme_counts(visible=visible.sql)
        values = visible.values | {"lexemes": list(lexemes), "ids": database_ids(chunk_ids)}

        async def work() -> dict[str, LexemeCounts]:
            async with self._database.autocommit(principal.workspace) as connection:
                cursor = await connection.execute(statement, values, prepare=True, binary=True)
                rows = await cursor.fetchall()
                frequent = [row[0] for row in rows if any(posting & MAX_TF == MAX_TF for posting in row[2])]
                exact: list[TupleRow] = []
                if frequent:
                    cursor = await connection.execute(bm25.EVIDENCE, values | {"ids": frequent})
                    exact = await cursor.fetchall()
            counted = {str(row[0]): _counts(row, lexemes) for row in rows}
            return counted | {
                str(row[0]): LexemeCounts(length=row[1], counts=dict(zip(lexemes, row[2], strict=True)))
                for row in exact
            }

        return await self._database.read(work)

    async def visible_frequencies(self, lexemes: Sequence[str], *, principal: Principal) -> VisibleFrequencies:
        return await self._words.frequencies(lexemes, principal=principal)

    async def _terms(self, look: _Look) -> tuple[tuple[QueryTerm, ...], int, float]:
        async with self._database.autocommit(look.workspace) as connection:
            async with connection.pipeline():
                totals = await connection.execute(full_text.TOTALS, look.values, prepare=True)
                terms = await connection.execute(full_text.TERMS, look.values, prepare=True)
            total, rows = await totals.fetchone(), await terms.fetchall()
        chunks, average_length = (total[0] or 0, total[1] or 0.0) if total else (0, 0.0)
        rows = await self._words.corrected(rows, visible=look.visible, workspace=look.workspace)
        known: dict[str, QueryTerm] = {}
        for word, lexeme, kind, frequency, typed, similarity in rows:
            # what was typed right counts in full, wherever else it was misspelt
            if lexeme not in known or known[lexeme].similarity < similarity:
                known[lexeme] = QueryTerm(
                    word=word,
                    lexeme=lexeme,
                    kind=TermKind(kind),
                    document_frequency=frequency,
                    idf=math.log(1 + (max(chunks, frequency) - frequency + 0.5) / (frequency + 0.5)),
                    typed=typed,
                    similarity=similarity,
                )
        return tuple(known.values()), chunks, average_length

    async def _by_cover_density(self, look: _Look, syntax: QuerySyntax) -> RankedList:
        statement = full_text.ranked_by_cover_density(
            expression=full_text.tsquery(syntax=syntax, operator=self._options.operator),
            limit=look.limit,
            visible=look.visible.sql,
            filtered=look.filtered,
        )
        async with self._database.autocommit(look.workspace) as connection:
            cursor = await connection.execute(statement, look.values, prepare=True, binary=True)
            rows = await cursor.fetchall()
        return RankedList(
            source=FULL_TEXT,
            score_type=ScoreType.TS_RANK_CD,
            hits=tuple(Hit(chunk_id=str(chunk_id), score=score) for chunk_id, score in rows),
        )

    async def _by_bm25(self, look: _Look, terms: Sequence[QueryTerm], chunks: int) -> LexicalChunks:
        known = [term for term in terms if term.document_frequency]
        codes = _identifiers(known, chunks)
        if not known:
            return _found(RankedList(source=FULL_TEXT, score_type=ScoreType.BM25))
        where = {"visible": look.visible.sql, "filtered": look.filtered}
        best = full_text.with_every_word(
            bm25.bm25_top(limit=look.limit, matching=look.matching, budget=self._options.budget, **where)
        )
        holding = bm25.chunks_holding(limit=look.limit, **where)
        values = {
            **look.values,
            "lexemes": [term.lexeme for term in known],
            "weights": [term.similarity for term in known],
            "theta": None,
        }
        async with self._database.autocommit(look.workspace) as connection:
            async with connection.pipeline():
                await connection.execute(bm25.SETTINGS, prepare=True)
                best_cursor = await connection.execute(best, values, prepare=True, binary=True)
                code_cursor = (
                    await connection.execute(
                        holding, {**look.values, "lexemes": [code.lexeme for code in codes]}, prepare=True, binary=True
                    )
                    if codes
                    else None
                )
            rows = await best_cursor.fetchall()
            code_rows = await code_cursor.fetchall() if code_cursor else []
            attempt = 0
            certified = min(look.limit, bm25.CERTIFIED)
            while (theta := bm25.next_theta(rows, certified=certified, attempt=attempt)) is not None:
                attempt += 1
                async with connection.pipeline():
                    await connection.execute(bm25.SETTINGS, prepare=True)
                    best_cursor = await connection.execute(best, {**values, "theta": theta}, prepare=True, binary=True)
                rows = await best_cursor.fetchall()
        mass = evidence_mass(terms)
        found = [row for row in rows if row[0] is not None]
        ranked = RankedList(
            source=FULL_TEXT,
            score_type=ScoreType.BM25,
            hits=tuple(
                Hit(chunk_id=str(row[0]), score=row[1], evidence=min(1.0, row[6] / mass) if mass else 0.0)
                for row in found
            ),
        )
        every = sorted((-row[7], row[0]) for row in found if row[7] is not None)
        return _found(
            ranked,
            identifiers=_identified(code_rows, codes, ranked),
            all_words=tuple(Hit(chunk_id=str(chunk_id), score=-negated) for negated, chunk_id in every),
            cut=bool(rows and rows[0][3]),
        )


def _found(
    ranked: RankedList, *, identifiers: tuple[Hit, ...] = (), all_words: tuple[Hit, ...] = (), cut: bool = False
) -> LexicalChunks:
    return LexicalChunks(
        ranked_list=ranked,
        identifiers=RankedList(source=IDENTIFIERS, score_type=ScoreType.IDENTIFIER_MATCH, hits=identifiers),
        all_words=RankedList(source=ALL_WORDS, score_type=ScoreType.TS_RANK_CD, hits=all_words),
        cut=cut,
    )


def _identifiers(known: Sequence[QueryTerm], chunks: int) -> list[QueryTerm]:
    """Return the identifiers: codes that few chunks hold. What many hold (a year's date, 24/7) names none of them.

    Of one that was typed with spaces, the longest run that is known is it.
    """
    most = max(FEW, int(FEW_SHARE * chunks))
    codes = [
        term
        for term in known
        if term.kind in (TermKind.WHOLE, TermKind.JOINED)
        and term.document_frequency <= most
        and CODE.search(term.lexeme)
    ]
    words = {code.word for code in codes}
    return [code for code in codes if not any(code.word != word and f" {code.word} " in f" {word} " for word in words)]


def _identified(rows: Sequence[TupleRow], codes: Sequence[QueryTerm], ranked: RankedList) -> tuple[Hit, ...]:
    """Rank chunks by the share of the query's identifiers that they hold, ties by their place in the sparse ranking.

    A chunk that holds one in another writing (12,34 and 1234) holds half of it, if others hold it as typed.
    """
    code_of = {code.lexeme: code for code in codes}
    held: dict[str, dict[str, bool]] = {}
    for _, lexeme, chunk_id, *_ in rows:
        code = code_of[lexeme]
        words = held.setdefault(str(chunk_id), {})
        words[code.word] = words.get(code.word, False) or code.kind is TermKind.WHOLE
    as_typed = {word for words in held.values() for word, whole in words.items() if whole}
    total = len({code.word for code in codes})
    place = {hit.chunk_id: number for number, hit in enumerate(ranked.hits)}
    last = len(place)
    scores = {
        chunk_id: math.fsum(
            1.0 if whole or word not in as_typed else OTHERWISE_WRITTEN for word, whole in words.items()
        )
        / total
        for chunk_id, words in held.items()
    }
    ranking = sorted(scores.items(), key=lambda item: (-item[1], place.get(item[0], last), int(item[0])))
    return tuple(Hit(chunk_id=chunk_id, score=score) for chunk_id, score in ranking)


def _exact(length: int, lexemes: Sequence[str], frequencies: Sequence[int]) -> LexemeCounts:
    return LexemeCounts(length=length, counts=dict(zip(lexemes, frequencies, strict=True)))


def _counts(row: TupleRow, lexemes: Sequence[str]) -> LexemeCounts:
    _, length, postings, keys = row
    tf_of = {posting & ~MAX_TF: posting & MAX_TF for posting in postings}
    return LexemeCounts(
        length=length,
        counts={lexeme: tf_of[key] for lexeme, key in zip(lexemes, keys, strict=True) if key in tf_of},
    )
