"""Text that is recognised in the picture of a page (OCR)."""

from dataclasses import dataclass

from ragcorp.domain.exceptions import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognizedPage:
    """The text of a page (from 1), line by line; blank if it shows none. ``confidence`` in [0, 1] is the engine's."""

    page: int
    text: str
    confidence: float

    def __post_init__(self) -> None:
        if self.page < 1 or not 0 <= self.confidence <= 1:
            raise InvalidInputError("A recognised page has a number from 1 and a confidence in [0, 1].", field="page")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognitionCounts:
    """Scanned ``pages``, of which ``done`` were read and ``failed`` are not tried again; the others wait."""

    pages: int
    done: int
    failed: int

    @property
    def waiting(self) -> int:
        return self.pages - self.done - self.failed
