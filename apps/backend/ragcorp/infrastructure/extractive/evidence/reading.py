"""Reads a question's passages: their statements, each with its evidence."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import anyio.to_thread

from ragcorp.domain.answers import AnswerPrompt, Passage
from ragcorp.domain.ports.text import DocumentContext, TextAnalyzer
from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.evidence.terms import GENERIC, Term, make_terms, wording_of
from ragcorp.infrastructure.extractive.evidence.weights import (
    Candidate,
    Surroundings,
    Words,
    around_credit,
    holds_phrase,
    weigh,
)
from ragcorp.infrastructure.extractive.passages.non_documents import stated, subject
from ragcorp.infrastructure.extractive.passages.statements import Statement
from ragcorp.infrastructure.extractive.question.parsing import Question, parts_of
from ragcorp.infrastructure.extractive.vocabulary.thesaurus import GROUPS

OPENING = 600
"""Characters of a document's beginning that say what it is about."""

WIDE_ROW = 4
_SECTION = re.compile(
    r"\W*(?:1\.\s|cl[aá]usulas?\b|art[ií]culo\s+1|art\.\s*1\b|exponen\b|antecedentes\b)", re.IGNORECASE
)
"""Where what a document is about ends and its matter begins."""

_PATH_MARK = re.compile(r"[-_/.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read in one language. ``part_terms`` holds, for each part of the question, its terms' indexes."""

    terms: Sequence[Term]
    part_terms: Sequence[frozenset[int]]
    candidates: Sequence[Candidate]
    abouts: Mapping[UUID, str]


async def read(
    prompt: AnswerPrompt, question: Question, *, analyzer: TextAnalyzer, documents: DocumentContext
) -> list[Reading]:
    """Return a reading a language of the passages: the content's language decides how words are stemmed."""
    ids = list(dict.fromkeys(passage.chunk.document_id for passage in prompt.passages))
    openings = await documents.openings(ids, workspace=prompt.workspace)
    by_language: dict[str, list[Passage]] = {}
    for passage in prompt.passages:
        by_language.setdefault(passage.chunk.language, []).append(passage)
    return [
        await _read(prompt, question, passages, language, openings, analyzer=analyzer, documents=documents)
        for language, passages in by_language.items()
    ]


class _Texts:
    """Texts to be analysed in one go, each once."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}

    def add(self, texts: Sequence[str]) -> list[int]:
        """Return the places of the texts among ``texts``."""
        return [self._texts.setdefault(text, len(self._texts)) for text in texts]

    @property
    def texts(self) -> list[str]:
        return list(self._texts)


async def _read(
    prompt: AnswerPrompt,
    question: Question,
    passages: Sequence[Passage],
    language: str,
    openings: Mapping[UUID, str],
    *,
    analyzer: TextAnalyzer,
    documents: DocumentContext,
) -> Reading:
    wording = wording_of(prompt.question)
    parts = [wording_of(part) for part in parts_of(prompt.question)]
    found = await anyio.to_thread.run_sync(_stated, passages)
    flat = [statement for each in found for statement in each]
    abouts = [_about(passage, openings.get(passage.chunk.document_id, "")) for passage in passages]
    headings = [" . ".join(passage.chunk.heading_path[1:]) for passage in passages]
    texts = _Texts()
    asked = texts.add([wording.words, " . ".join(question.names), GENERIC])
    of_parts = texts.add([part.words for part in parts])
    of_groups = texts.add(GROUPS)
    of_headings, of_abouts = texts.add(headings), texts.add(abouts)
    of_passages = texts.add([passage.chunk.content for passage in passages])
    of_statements = texts.add([own_text(statement) for statement in flat])
    of_leads = texts.add([_lead_text(statement) for statement in flat])
    analysed = await analyzer.lexemes(texts.texts, language=language)

    def lexemes(places: Sequence[int]) -> list[frozenset[str]]:
        return [analysed[place] for place in places]

    asked_lexemes, names, generic = lexemes(asked)
    ordered = sorted(asked_lexemes)
    terms = make_terms(
        asked_lexemes,
        names=names,
        generic=generic,
        groups=lexemes(of_groups),
        phrases=wording.phrases,
        vocabulary=frozenset().union(
            *lexemes([*of_headings, *of_abouts, *of_passages, *of_statements]),
        ),
        frequencies=await analyzer.document_frequencies(ordered, workspace=prompt.workspace),
        chunks=await analyzer.count_chunks(workspace=prompt.workspace),
    )
    ids = list(dict.fromkeys(passage.chunk.document_id for passage in passages))
    holdings = await documents.holdings(ordered, ids, workspace=prompt.workspace)

    def candidates() -> list[Candidate]:
        phrases = _phrases_held(terms, passages)
        own, leads = iter(lexemes(of_statements)), iter(lexemes(of_leads))
        weighed: list[Candidate] = []
        for index, passage in enumerate(passages):
            document_id = passage.chunk.document_id
            weighed += _weighed(
                passage,
                found[index],
                terms=terms,
                around=Surroundings(
                    heading=Words.of(headings[index], analysed[of_headings[index]]),
                    passage=Words.of(passage.chunk.content, analysed[of_passages[index]]),
                    about=Words.of(abouts[index], analysed[of_abouts[index]]),
                    document=holdings.get(document_id, frozenset()) | phrases.get(document_id, frozenset()),
                ),
                own=own,
                leads=leads,
            )
        return weighed

    return Reading(
        terms=terms,
        part_terms=[
            frozenset(
                number
                for number, term in enumerate(terms)
                if term.lexeme in part_lexemes or term.phrase in part.phrases
            )
            for part, part_lexemes in zip(parts, lexemes(of_parts), strict=True)
        ],
        candidates=await anyio.to_thread.run_sync(candidates),
        abouts={passage.chunk.document_id: about for passage, about in zip(passages, abouts, strict=True)},
    )


def _stated(passages: Sequence[Passage]) -> list[Sequence[Statement]]:
    return [stated(passage.chunk) for passage in passages]


def _weighed(
    passage: Passage,
    found: Sequence[Statement],
    *,
    terms: Sequence[Term],
    around: Surroundings,
    own: Iterator[frozenset[str]],
    leads: Iterator[frozenset[str]],
) -> list[Candidate]:
    """Return the statements of a passage with their evidence; takes their lexemes from ``own`` and ``leads``."""
    shared = [around_credit(term, around) for term in terms]
    words = [Words.of(own_text(statement), next(own)) for statement in found]
    lead = [Words.of(_lead_text(statement), next(leads)) for statement in found]
    return [
        weigh(
            passage,
            position,
            found,
            terms=terms,
            own=words[position],
            lead=lead[position],
            near=_near(found, words, position),
            heading=around.heading,
            shared=shared,
        )
        for position in range(len(words))
    ]


def _phrases_held(terms: Sequence[Term], passages: Sequence[Passage]) -> Mapping[UUID, frozenset[str]]:
    """Return the phrases that each document's passages hold: the index knows of lexemes only."""
    held: dict[UUID, frozenset[str]] = {}
    for passage in passages:
        plain = folded_in_place(passage.chunk.content)
        found = frozenset(term.phrase for term in terms if term.phrase and holds_phrase(plain, term.phrase))
        held[passage.chunk.document_id] = held.get(passage.chunk.document_id, frozenset()) | found
    return held


def _near(found: Sequence[Statement], words: Sequence[Words], position: int) -> Iterator[Words]:
    """Yield the words of the sentences of the same line before and after."""
    for neighbour in (position - 1, position + 1):
        if 0 <= neighbour < len(found) and found[neighbour].line == found[position].line:
            yield words[neighbour]


def own_text(statement: Statement) -> str:
    """Return a statement as it is searched: a row with the heads of its columns."""
    heads = " . ".join(cell.header for cell in statement.cells)
    return " ".join(part for part in (statement.text, heads, statement.implied) if part)


def _lead_text(statement: Statement) -> str:
    return " . ".join(part for part in (statement.lead, statement.heading) if part)


def _before_sections(line: str) -> bool:
    return _SECTION.match(line) is None


def _about(passage: Passage, opening: str) -> str:
    chunk = passage.chunk
    if not chunk.of_document:
        return subject(chunk)
    path = _PATH_MARK.sub(" ", chunk.source_path or chunk.external_id)
    # a wide table's heads are no subject of the document; one of two columns describes it
    lines = [line for line in itertools.takewhile(_before_sections, opening.split("\n")) if line.count("|") < WIDE_ROW]
    return f"{chunk.title} . {path} . {' '.join(lines)[:OPENING]}"
