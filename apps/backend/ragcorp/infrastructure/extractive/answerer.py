"""The port Answerer without a language model: it quotes the statements that hold what is asked for, or abstains."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio.to_thread

from ragcorp.domain.answers import AnswerEvent, AnswerFinished, AnswerPrompt
from ragcorp.domain.ports.text import DocumentContext, TextAnalyzer
from ragcorp.domain.text.utterances import content_words, is_small_talk
from ragcorp.infrastructure.extractive.evidence.reading import read
from ragcorp.infrastructure.extractive.evidence.selection import choose
from ragcorp.infrastructure.extractive.phrasing import worded
from ragcorp.infrastructure.extractive.question.parsing import parse_question


class ExtractiveAnswerer:
    """Quotes at most three statements and 600 characters, each with its citation."""

    name = "extractive"

    def __init__(self, *, analyzer: TextAnalyzer, documents: DocumentContext) -> None:
        self._analyzer = analyzer
        self._documents = documents

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        if not content_words(prompt.question) and not is_small_talk(prompt.question):
            yield AnswerFinished(abstained=True)  # "¿Y ella?" asks, but names nothing to look for
            return
        question = parse_question(prompt.question)
        readings = await read(prompt, question, analyzer=self._analyzer, documents=self._documents)
        # what compares statements with one another would hold up the event loop
        pieces = await anyio.to_thread.run_sync(lambda: worded(choose(question, readings), language=prompt.language))
        for piece in pieces:
            yield piece
        yield AnswerFinished(abstained=not pieces)

    async def aclose(self) -> None:
        return None
