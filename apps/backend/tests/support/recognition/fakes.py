"""Recognisers that implement the port without an engine."""

from __future__ import annotations

from collections.abc import Mapping

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.recognition import RecognizedPage


class ScriptedRecognizer:
    """Gives the text of each page by number, or raises its error; ``read`` are the pages that it was given."""

    def __init__(self, pages: Mapping[int, str | BaseException], *, confidence: float = 0.9) -> None:
        self.pages = dict(pages)
        self.read: list[int] = []
        self._confidence = confidence

    async def recognize(self, file: SourceFile, page: int) -> RecognizedPage:
        assert file.content
        self.read.append(page)
        text = self.pages.get(page, "")
        if isinstance(text, BaseException):
            raise text
        return RecognizedPage(page=page, text=text, confidence=self._confidence)
