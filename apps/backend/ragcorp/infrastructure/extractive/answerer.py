"""The port Answerer without a language model: quotes the statements that answer the question, or abstains."""

from collections.abc import AsyncGenerator

import anyio.to_thread

from ragcorp.domain.answers import AnswerEvent, AnswerFinished, AnswerPrompt
from ragcorp.domain.ports.text import DocumentContext, TextAnalyzer
from ragcorp.domain.text.utterances import content_words, is_small_talk
from ragcorp.infrastructure.extractive.phrasing import quoted_pieces
from ragcorp.infrastructure.extractive.question import parse_question, parts_of
from ragcorp.infrastructure.extractive.reading import Reader
from ragcorp.infrastructure.extractive.selection import choose


class ExtractiveAnswerer:
    """Quotes at most three statements and 600 characters, each with its citation."""

    name = "extractive"

    def __init__(self, *, analyzer: TextAnalyzer, documents: DocumentContext) -> None:
        self._reader = Reader(analyzer=analyzer, documents=documents)

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        if not content_words(prompt.question) and not is_small_talk(prompt.question):
            yield AnswerFinished(abstained=True)  # "¿Y ella?" has no word to look for
            return
        parts = [parse_question(part) for part in parts_of(prompt.question)]
        readings = await self._reader.read(prompt, parse_question(prompt.question), parts)
        # comparing statements with one another would block the event loop
        pieces = await anyio.to_thread.run_sync(
            lambda: quoted_pieces(choose(parts, readings), language=prompt.language)
        )
        for piece in pieces:
            yield piece
        yield AnswerFinished(abstained=not pieces)

    async def aclose(self) -> None:
        return None
