"""Passages and a plain analyser for answers without a database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from ragcorp.domain.answers import AnswerFinished, AnswerPrompt, Passage, QuotedPiece
from ragcorp.domain.citations.checks import cited_lines
from ragcorp.domain.documents import Chunk
from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.answerer import ExtractiveAnswerer

STOP_WORDS = frozenset(
    {
        "a",
        "al",
        "con",
        "de",
        "del",
        "el",
        "en",
        "es",
        "la",
        "las",
        "lo",
        "los",
        "no",
        "para",
        "por",
        "que",
        "se",
        "sera",
    }
    | {"son", "su", "un", "una", "y", "the", "of", "is", "in"}
)
NAMESPACE = UUID("00000000-0000-0000-0000-00000000d0c5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An answer: its text, the quotes by citation number, and the cited documents with their lines."""

    text: str
    abstained: bool
    quotes: tuple[tuple[int, str], ...]
    lines: tuple[tuple[str, int, int], ...]


@dataclass(slots=True)
class PlainTexts:
    """Documents by name, each one passage; lexemes are folded words without stop words and plural s."""

    documents: dict[str, str]
    languages: dict[str, str] = field(default_factory=dict)

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(
            Passage(n=number, chunk=self._chunk(name, text))
            for number, (name, text) in enumerate(self.documents.items(), start=1)
        )

    def _chunk(self, name: str, text: str) -> Chunk:
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        return Chunk(
            id=name,
            document_id=uuid5(NAMESPACE, name),
            external_id=name,
            chunk_index=0,
            content=text,
            heading_path=tuple(headings[:1]),
            title=headings[0] if headings else "",
            language=self.languages.get(name, "es"),
            path=name,
            metadata={},
            line_start=1,
            line_end=text.count("\n") + 1,
            page_start=None,
            page_end=None,
        )

    async def lexemes(self, texts: Sequence[str], *, language: str) -> list[frozenset[str]]:
        del language
        return [lexemes_of(text) for text in texts]

    async def document_frequencies(self, lexemes: Sequence[str], *, workspace: str) -> dict[str, int]:
        del workspace
        held = [lexemes_of(text) for text in self.documents.values()]
        return {lexeme: sum(lexeme in item for item in held) for lexeme in lexemes}

    async def count_chunks(self, *, workspace: str) -> int:
        del workspace
        return 100

    async def openings(self, document_ids: Sequence[UUID], *, workspace: str) -> dict[UUID, str]:
        del workspace
        return {uuid5(NAMESPACE, name): text for name, text in self.documents.items()}

    async def holdings(
        self, lexemes: Sequence[str], document_ids: Sequence[UUID], *, workspace: str
    ) -> dict[UUID, frozenset[str]]:
        del workspace
        return {uuid5(NAMESPACE, name): lexemes_of(text) & set(lexemes) for name, text in self.documents.items()}

    async def ask(self, question: str, *, language: str = "es") -> Shown:
        prompt = AnswerPrompt(question=question, language=language, workspace="default", passages=self.passages)
        events = [event async for event in ExtractiveAnswerer(analyzer=self, documents=self).answer(prompt)]
        pieces = [event for event in events if isinstance(event, QuotedPiece)]
        finished = events[-1]
        assert isinstance(finished, AnswerFinished)
        assert events == [*pieces, finished]
        chunks = {passage.n: passage.chunk for passage in self.passages}
        return Shown(
            text=" ".join(f"{piece.text} [{piece.n}]" for piece in pieces),
            abstained=finished.abstained,
            quotes=tuple((piece.n, piece.quote) for piece in pieces),
            lines=tuple(
                (chunks[piece.n].external_id, *cited_lines(chunks[piece.n], [piece.quote])) for piece in pieces
            ),
        )


def lexemes_of(text: str) -> frozenset[str]:
    words = re.findall(r"[^\W_]+", folded_in_place(text))
    return frozenset(word.removesuffix("s") if len(word) > 3 else word for word in words if word not in STOP_WORDS)
