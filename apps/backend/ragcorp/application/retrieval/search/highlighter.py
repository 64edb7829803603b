"""Highlights the matching words of a page, by the text analysis of the index."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.application.resilience.time_bound import run_until
from ragcorp.application.retrieval.search.highlights import Token, disjoint, literal, matching, spellings, tokens_of
from ragcorp.application.retrieval.search.plan import QueryPlan
from ragcorp.application.retrieval.search.step_pipeline import step_out
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.sources import SourceResult
from ragcorp.domain.ports.text import TextAnalyzer
from ragcorp.domain.retrieval import SourceReport
from ragcorp.domain.search.requests import Highlight, SearchHit
from ragcorp.domain.search.sources import GREP

HIGHLIGHT = "highlight"
"""The name of the highlighter in reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Analysis:
    """Text analysis in one language: the lexemes of each spelling, and the wanted lexemes."""

    lexemes: Mapping[str, frozenset[str]]
    wanted: frozenset[str]


class Highlighter:
    """Analyses the distinct words of the shown passages, with one call for each language."""

    def __init__(self, *, analyzer: TextAnalyzer) -> None:
        self._analyzer = analyzer

    async def mark(
        self, hits: tuple[SearchHit, ...], results: Sequence[SourceResult], plan: QueryPlan
    ) -> tuple[tuple[SearchHit, ...], tuple[SourceReport, ...]]:
        """Return the hits with their highlights, and a report where the analysis failed or was too slow.

        Highlights are words with a lexeme of the query or of a source's reading of it (corrections, codes typed with
        spaces), and literal terms of a file search.
        """
        answers = [result.answer for result in results if result.answer is not None]
        looked_for = frozenset(term.lexeme for answer in answers for term in answer.terms)
        literals = tuple(dict.fromkeys(term for answer in answers for term in answer.literals))
        tokens = [tokens_of(hit.chunk.content) for hit in hits]
        started = time.perf_counter()
        try:
            look = self._analyses(hits, tokens, plan.request.query, looked_for)
            analyses = await run_until(plan.deadline, look)
        except (TimeoutError, StorageUnavailableError) as error:
            return hits, (step_out(HIGHLIGHT, error, started),)
        marked = tuple(
            replace(hit, highlights=_marks(hit, of_hit, analyses[hit.chunk.language], literals))
            for hit, of_hit in zip(hits, tokens, strict=True)
        )
        return marked, ()

    async def _analyses(
        self, hits: Sequence[SearchHit], tokens: Sequence[Sequence[Token]], query: str, looked_for: frozenset[str]
    ) -> dict[str, _Analysis]:
        by_language: dict[str, dict[str, None]] = {}
        for hit, of_hit in zip(hits, tokens, strict=True):
            by_language.setdefault(hit.chunk.language, {}).update(dict.fromkeys(spellings(of_hit)))
        analyses = {}
        for language, spelt in by_language.items():
            of_query, *lexemes = await self._analyzer.lexemes([query, *spelt], language=language)
            analyses[language] = _Analysis(lexemes=dict(zip(spelt, lexemes, strict=True)), wanted=looked_for | of_query)
        return analyses


def _marks(
    hit: SearchHit, tokens: Sequence[Token], analysis: _Analysis, literals: Sequence[str]
) -> tuple[Highlight, ...]:
    marks = list(matching(tokens, analysis.lexemes, analysis.wanted))
    if any(part.source == GREP for part in hit.sources):
        marks += literal(hit.chunk.content, literals)
    return disjoint(marks)
