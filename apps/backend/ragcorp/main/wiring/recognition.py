"""Builds text recognition (OCR); as a program, the child that works for it."""

import json
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.ports.text import ReadingPool
from ragcorp.domain.recognition import RecognizedPage
from ragcorp.infrastructure.sandbox.pool import ChildPool, Limits
from ragcorp.main.settings.schema import OcrMode, Settings

if TYPE_CHECKING:
    from ragcorp.infrastructure.recognition.recognizer import PageRecognizer

_SIMPLER = "Scan the page again, in grey and at 200 to 300 dots per inch."

LIMITS = Limits(seconds=120.0, memory_bytes=1 << 30, processes=1, time_remedy=_SIMPLER, memory_remedy=_SIMPLER)
"""For a page, which takes about 5 seconds and 600 MB. One process, as it works in the background."""

_MOST_GROWTH = 768 << 20


class ChildRecognizer:
    """The port TextRecognizer, in a child process."""

    def __init__(self, pool: ReadingPool) -> None:
        self._pool = pool

    async def recognize(self, file: SourceFile, page: int) -> RecognizedPage:
        return await self._pool.run(_recognize, file, page, size=0, apart=True)


def recognizes(settings: Settings) -> bool:
    """Return whether text recognition is on, and its engine installed."""
    return settings.ocr is not OcrMode.OFF and all(map(find_spec, ("rapidocr", "onnxruntime")))


def make_pool() -> ChildPool:
    return ChildPool(subject=None, module=__name__, options={}, limits=LIMITS)


def _recognize(recognizer: "PageRecognizer", file: SourceFile, page: int) -> RecognizedPage:
    return recognizer.recognize(file, page)


def main() -> None:
    from ragcorp.infrastructure.recognition.recognizer import PageRecognizer
    from ragcorp.infrastructure.sandbox.child import serve

    options = json.loads(sys.argv[1])
    serve(PageRecognizer(), parent=options["parent"], memory_bytes=options["memory_bytes"], most_growth=_MOST_GROWTH)


if __name__ == "__main__":
    main()
