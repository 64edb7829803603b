"""Reads the passages of a question: their statements, each with its evidence."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from uuid import UUID

import anyio.to_thread

from ragcorp.domain.answers import AnswerPrompt, Passage
from ragcorp.domain.ports.text import DocumentContext, TextAnalyzer
from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.question import Question
from ragcorp.infrastructure.extractive.statements import Statement, statements_of
from ragcorp.infrastructure.extractive.terms import (
    GENERIC,
    Candidate,
    Surroundings,
    Term,
    Words,
    around_credit,
    close_credit,
    contains_phrase,
    make_terms,
    own_credit,
)

THESAURUS = tuple(files(__package__).joinpath("thesaurus.txt").read_text(encoding="utf-8").splitlines())
"""Groups of business words with one meaning, in Spanish, English and Portuguese: a line each.

Groups contain dictionary forms and forms with another stem; the text analyser turns them into lexemes.
"""

OPENING = 600
"""Characters at the beginning of a document that describe its subject."""

WIDE_ROW = 4
_SECTION = re.compile(
    r"\W*(?:1\.\s|cl[aá]usulas?\b|art[ií]culo\s+1|art\.\s*1\b|exponen\b|antecedentes\b)", re.IGNORECASE
)
"""First line of the matter of a document, after the description of its subject."""

_PATH_MARK = re.compile(r"[-_/.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The passages in one language. ``part_terms`` has the indexes of the terms of each part of the question."""

    terms: Sequence[Term]
    part_terms: Sequence[frozenset[int]]
    candidates: Sequence[Candidate]
    abouts: Mapping[UUID, str]


class Reader:
    """Reads the passages language by language: the language of the content decides how words are stemmed."""

    def __init__(self, *, analyzer: TextAnalyzer, documents: DocumentContext) -> None:
        self._analyzer = analyzer
        self._documents = documents
        self._fixed: dict[str, dict[str, frozenset[str]]] = {}

    async def read(self, prompt: AnswerPrompt, question: Question, parts: Sequence[Question]) -> list[Reading]:
        ids = list(dict.fromkeys(passage.chunk.document_id for passage in prompt.passages))
        openings = await self._documents.openings(ids, workspace=prompt.workspace)
        chunks = await self._analyzer.count_chunks(workspace=prompt.workspace)
        by_language: dict[str, list[Passage]] = {}
        for passage in prompt.passages:
            by_language.setdefault(passage.chunk.language, []).append(passage)
        readings: list[Reading] = []
        for language, passages in by_language.items():
            statements = await anyio.to_thread.run_sync(_statements, passages)
            abouts = [_about(passage, openings.get(passage.chunk.document_id, "")) for passage in passages]
            headings = [" . ".join(passage.chunk.heading_path[1:]) for passage in passages]
            names = " . ".join(question.names)
            evidence = [*headings, *abouts, *(passage.chunk.content for passage in passages)]
            evidence += [
                text for of_passage in statements for statement in of_passage for text in _own_texts(statement)
            ]
            leads = [_lead_text(statement) for of_passage in statements for statement in of_passage]
            lexemes = await self._lexemes(
                [question.words, names, *(part.words for part in parts), *evidence, *leads], language
            )
            ordered = sorted(lexemes[question.words])
            terms = make_terms(
                lexemes[question.words],
                names=lexemes[names],
                generic=lexemes[GENERIC],
                groups=[lexemes[group] for group in THESAURUS],
                phrases=question.phrases,
                vocabulary=frozenset().union(*(lexemes[text] for text in evidence)),
                frequencies=await self._analyzer.document_frequencies(ordered, workspace=prompt.workspace),
                chunks=chunks,
            )
            of_language = list(dict.fromkeys(passage.chunk.document_id for passage in passages))
            in_documents = await self._documents.holdings(ordered, of_language, workspace=prompt.workspace)
            weighing = _Weighing(terms=terms, lexemes=lexemes, in_documents=in_documents)
            candidates = await anyio.to_thread.run_sync(weighing.candidates, passages, statements, headings, abouts)
            readings.append(
                Reading(
                    terms=terms,
                    part_terms=[_terms_of(part, terms, lexemes[part.words]) for part in parts],
                    candidates=candidates,
                    abouts={passage.chunk.document_id: about for passage, about in zip(passages, abouts, strict=True)},
                )
            )
        return readings

    async def _lexemes(self, texts: Iterable[str], language: str) -> Mapping[str, frozenset[str]]:
        """Return the lexemes of the texts, and of the thesaurus, which is analysed once per language."""
        if language not in self._fixed:
            self._fixed[language] = await self._analysed([GENERIC, *THESAURUS], language)
        return self._fixed[language] | await self._analysed(texts, language)

    async def _analysed(self, texts: Iterable[str], language: str) -> dict[str, frozenset[str]]:
        unique = list(dict.fromkeys(texts))
        return dict(zip(unique, await self._analyzer.lexemes(unique, language=language), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weighing:
    """Weighs statements by the terms. ``lexemes`` are by text, ``in_documents`` by document."""

    terms: Sequence[Term]
    lexemes: Mapping[str, frozenset[str]]
    in_documents: Mapping[UUID, frozenset[str]]

    def candidates(
        self,
        passages: Sequence[Passage],
        statements: Sequence[Sequence[Statement]],
        headings: Sequence[str],
        abouts: Sequence[str],
    ) -> list[Candidate]:
        phrases = self._phrases(passages)
        candidates: list[Candidate] = []
        for passage, of_passage, heading, about in zip(passages, statements, headings, abouts, strict=True):
            document = passage.chunk.document_id
            around = Surroundings(
                heading=self._words(heading),
                passage=self._words(passage.chunk.content),
                about=self._words(about),
                document=self.in_documents.get(document, frozenset()) | phrases[document],
            )
            candidates += self._of_passage(passage, of_passage, around)
        return candidates

    def _of_passage(
        self, passage: Passage, statements: Sequence[Statement], around: Surroundings
    ) -> Iterator[Candidate]:
        anywhere = [around_credit(term, around) for term in self.terms]
        texts = [self._words(*_own_texts(statement)) for statement in statements]
        for position, statement in enumerate(statements):
            lead = self._words(_lead_text(statement))
            near = [
                texts[n]
                for n in (position - 1, position + 1)
                if 0 <= n < len(statements) and statements[n].line == statement.line
            ]
            row = self._words(_own_texts(statement)[0])
            own = [own_credit(term, texts[position], row=row, cells=statement.cells) for term in self.terms]
            close = [
                max(credit, close_credit(term, lead=lead, heading=around.heading, near=near))
                for term, credit in zip(self.terms, own, strict=True)
            ]
            yield Candidate(
                passage=passage,
                position=position,
                statement=statement,
                following=statements[position + 1] if position + 1 < len(statements) else None,
                credits=tuple(map(max, close, anywhere)),
                own=tuple(own),
                close=tuple(close),
            )

    def _phrases(self, passages: Sequence[Passage]) -> Mapping[UUID, frozenset[str]]:
        """Return the phrases in the passages of each document: the index has lexemes only."""
        phrases: dict[UUID, frozenset[str]] = {}
        for passage in passages:
            plain = folded_in_place(passage.chunk.content)
            present = (term.phrase for term in self.terms if term.phrase and contains_phrase(plain, term.phrase))
            document = passage.chunk.document_id
            phrases[document] = phrases.get(document, frozenset()).union(present)
        return phrases

    def _words(self, *texts: str) -> Words:
        return Words.of(" ".join(texts), frozenset().union(*(self.lexemes[text] for text in texts)))


def _statements(passages: Sequence[Passage]) -> list[list[Statement]]:
    return [statements_of(passage.chunk) for passage in passages]


def _terms_of(part: Question, terms: Sequence[Term], lexemes: frozenset[str]) -> frozenset[int]:
    return frozenset(
        number for number, term in enumerate(terms) if term.lexeme in lexemes or term.phrase in part.phrases
    )


def _own_texts(statement: Statement) -> tuple[str, ...]:
    """Return the texts of a statement that terms are matched in: its own, then the heads of a row's columns."""
    own = f"{statement.text} {statement.implied}" if statement.implied else statement.text
    return (own, " . ".join(cell.header for cell in statement.cells)) if statement.cells else (own,)


def _lead_text(statement: Statement) -> str:
    return " . ".join(part for part in (statement.lead, statement.heading) if part)


def _about(passage: Passage, opening: str) -> str:
    """Return the subject of a document: its title, path and opening; of other passages the speaker and entities."""
    chunk = passage.chunk
    if not chunk.of_document:
        return " . ".join(part for part in (chunk.title, chunk.speaker, *chunk.entities) if part)
    path = _PATH_MARK.sub(" ", chunk.source_path or chunk.external_id)
    before = itertools.takewhile(lambda line: not _SECTION.match(line), opening.split("\n"))
    # the head of a wide table is not a subject; a table of two columns describes the document
    lines = [line for line in before if line.count("|") < WIDE_ROW]
    return f"{chunk.title} . {path} . {' '.join(lines)[:OPENING]}"
