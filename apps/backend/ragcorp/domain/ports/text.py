"""Ports for turning files into text and text into passages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import UUID

from ragcorp.domain.documents import ChunkDraft, ParsedText, SourceFile
from ragcorp.domain.recognition import RecognizedPage
from ragcorp.domain.structure.entities import DocumentStructure

Result = TypeVar("Result")


class DocumentParser(Protocol):
    """Turns a file into text. Blocking, possibly slow, and hostile files may crash it: see ``ReadingPool``."""

    @property
    def suffixes(self) -> frozenset[str]:
        """The supported file name suffixes, lower case with the dot."""

    def media_type(self, filename: str, declared: str | None = None) -> str:
        """Return the type by file name, else as ``declared``. Raises UnsupportedMediaTypeError."""

    def is_plain(self, filename: str) -> bool:
        """Return whether the text of a file of that name is plain (see ``ParsedText``)."""

    def parse(self, file: SourceFile, recognized: Sequence[RecognizedPage] = ()) -> ParsedText:
        """Return the text in NFC without NUL, with that of ``recognized`` pages in place of their pictures.

        Raises UnsupportedMediaTypeError or UnreadableDocumentError.
        """


class Chunker(Protocol):
    """Cuts text into passages that follow its structure. Pure, deterministic and blocking."""

    def fingerprint(self, *, plain: bool) -> str:
        """Identifies algorithm and parameters: with another fingerprint the chunks may differ."""

    def chunk(self, parsed: ParsedText) -> Sequence[ChunkDraft]:
        """Return the passages in order, ``chunk_index`` from 0. Blank text has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What reading a document gives: its text, passages and entities."""

    parsed: ParsedText
    chunks: tuple[ChunkDraft, ...]
    structure: DocumentStructure


class ReadingPool(Protocol):
    """Runs the blocking work of reading documents without holding up the event loop."""

    async def run(self, work: Callable[..., Result], *arguments: object, size: int, apart: bool) -> Result:
        """Return ``work(reader, *arguments)`` for an input of ``size`` bytes; ``work`` is a function of a module.

        ``apart``: in another process within limits, as for hostile or long input; else in a thread. Raises what
        ``work`` raises, and UnreadableDocumentError with a ``reason`` for work that reached a limit or crashed.
        """


class TextAnalyzer(Protocol):
    """Analyses text like the full-text index."""

    async def lexemes(self, texts: Sequence[str], *, language: str) -> list[frozenset[str]]:
        """Return the content lexemes (stemmed, without stop words) of each text."""

    async def document_frequencies(self, lexemes: Sequence[str], *, workspace: str) -> dict[str, int]:
        """Return the number of chunks of the workspace with each lexeme, up to a bound that the adapter names."""

    async def count_chunks(self, *, workspace: str) -> int:
        """Return the number of chunks of the workspace."""


class DocumentContext(Protocol):
    """Text of documents outside the given passages. Only for documents that the caller may read."""

    async def openings(self, document_ids: Sequence[UUID], *, workspace: str) -> dict[UUID, str]:
        """Return the first words of each document: they contain its title, parties, version and date."""

    async def holdings(
        self, lexemes: Sequence[str], document_ids: Sequence[UUID], *, workspace: str
    ) -> dict[UUID, frozenset[str]]:
        """Return which of the lexemes occur anywhere in each document."""


class LanguageDetector(Protocol):
    """Names the language of a text. Pure and quick."""

    def detect(self, text: str) -> str:
        """Return an ISO 639-1 code; the default language of the content if the text is inconclusive."""


class QueryLanguages(Protocol):
    """The languages in which a workspace's queries are read: the chosen one first, then those of its documents."""

    async def query_languages(self, workspace: str, *, default: str) -> tuple[str, ...]: ...

    async def set_default(self, workspace: str, language: str | None) -> None:
        """Choose the first language (ISO 639); None resets it."""
