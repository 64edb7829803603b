"""The port Answerer without a language model: it quotes the sentences that carry the question's words, or abstains.

A sentence's evidence is the share of the question's content lexemes, weighted by their rarity in the workspace, that
stands in the sentence or in what surrounds it (title and headings):

    coverage = sum of idf(t) over the question's lexemes t that are covered / sum of idf(t) over all of them

with idf(t) = ln(1 + N / (1 + df(t))). Nearest neighbours alone are no evidence: a sentence that shares no content
lexeme with the question is never quoted.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

from ragcorp.application.citation_check import as_plain_text, sentences
from ragcorp.domain.answers import AnswerDelta, AnswerEvent, AnswerFinished, AnswerPrompt, Passage, Quote
from ragcorp.domain.ports.text import TextAnalyzer
from ragcorp.infrastructure.extractive.question_words import without_names, without_question_words

MIN_COVERAGE = 0.5
"""Least share of the question that the best sentence must cover, headings included."""

MIN_TOPIC = 1 / 3
"""Least share of what is asked about the names in the question; a question of names alone asks nothing about them."""

MAX_SENTENCES = 3
MAX_CHARACTERS = 600
CONTEXT_SHARE = 0.6
"""A lexeme that stands only in the title or headings counts so much of one in the sentence."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    passage: Passage
    position: int
    text: str
    lexemes: frozenset[str]
    context: frozenset[str]
    coverage: float


class ExtractiveAnswerer:
    """Quotes at most three sentences, each with its citation."""

    name = "extractive"

    def __init__(self, *, analyzer: TextAnalyzer, min_coverage: float = MIN_COVERAGE) -> None:
        self._analyzer = analyzer
        self._min_coverage = min_coverage

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        candidates = await self._candidates(prompt)
        chosen = _chosen(candidates, self._min_coverage)
        if not chosen:
            yield AnswerFinished(abstained=True)
            return
        for number, candidate in enumerate(chosen):
            quoted = as_plain_text(candidate.text)
            yield AnswerDelta(text=f"{' ' if number else ''}«{quoted}» [{candidate.passage.n}]")
        quotes: dict[int, str] = {}
        for candidate in chosen:
            quotes.setdefault(candidate.passage.n, candidate.text)
        yield AnswerFinished(abstained=False, quotes=tuple(Quote(n=n, text=text) for n, text in quotes.items()))

    async def aclose(self) -> None:
        return None

    async def _candidates(self, prompt: AnswerPrompt) -> list[_Candidate]:
        # the content's language decides how its words are stemmed; the question is stemmed alike, to be comparable
        asked = without_question_words(prompt.question)
        by_language: dict[str, list[Passage]] = {}
        for passage in prompt.passages:
            by_language.setdefault(passage.chunk.language, []).append(passage)
        candidates: list[_Candidate] = []
        for language, passages in by_language.items():
            parts = [(passage, sentences(passage.chunk.content)) for passage in passages]
            contexts = [" . ".join((p.chunk.title, *p.chunk.heading_path)) for p in passages]
            flat = [sentence for _, found in parts for sentence in found]
            question, topic, *rest = await self._analyzer.lexemes(
                [asked, without_names(asked), *contexts, *flat], language=language
            )
            if not question:
                continue
            weights = await self._weights(question, prompt.workspace)
            context_lexemes, sentence_lexemes = rest[: len(contexts)], iter(rest[len(contexts) :])
            for (passage, found), context in zip(parts, context_lexemes, strict=True):
                for position, sentence in enumerate(found):
                    lexemes = next(sentence_lexemes)
                    # a sentence about the names alone says nothing of what is asked about them
                    if not _on_topic(weights, topic & question, lexemes | context):
                        continue
                    candidates.append(
                        _Candidate(
                            passage=passage,
                            position=position,
                            text=sentence,
                            lexemes=lexemes & question,
                            context=context & question,
                            coverage=_coverage(weights, lexemes, context),
                        )
                    )
        return candidates

    async def _weights(self, lexemes: frozenset[str], workspace: str) -> dict[str, float]:
        ordered = sorted(lexemes)
        frequencies = await self._analyzer.document_frequencies(ordered, workspace=workspace)
        total = await self._analyzer.count_chunks(workspace=workspace)
        return {lexeme: math.log(1 + total / (1 + frequencies.get(lexeme, 0))) for lexeme in ordered}


def _on_topic(weights: Mapping[str, float], topic: frozenset[str], covered: frozenset[str]) -> bool:
    total = math.fsum(weights[lexeme] for lexeme in topic)
    return math.fsum(weights[lexeme] for lexeme in topic & covered) >= MIN_TOPIC * total


def _coverage(weights: Mapping[str, float], sentence: frozenset[str], context: frozenset[str]) -> float:
    total = math.fsum(weights.values())
    if total == 0 or not sentence & weights.keys():
        return 0.0
    covered = math.fsum(
        weight if lexeme in sentence else CONTEXT_SHARE * weight if lexeme in context else 0.0
        for lexeme, weight in weights.items()
    )
    return covered / total


def _chosen(candidates: list[_Candidate], min_coverage: float) -> list[_Candidate]:
    """Return the best sentences, best first, while each still adds a lexeme of the question that none before has."""
    ranked = sorted(
        (candidate for candidate in candidates if candidate.lexemes),
        key=lambda candidate: (-candidate.coverage, candidate.passage.n, candidate.position),
    )
    if not ranked or ranked[0].coverage < min_coverage:
        return []
    chosen: list[_Candidate] = []
    seen: set[str] = set()
    characters = 0
    for candidate in ranked:
        adds = candidate.lexemes - seen
        fits = characters + len(candidate.text) <= MAX_CHARACTERS or not chosen
        if adds and fits and candidate.coverage >= min_coverage and candidate.text not in {c.text for c in chosen}:
            chosen.append(candidate)
            seen |= candidate.lexemes
            characters += len(candidate.text)
        if len(chosen) == MAX_SENTENCES:
            break
    return chosen
