"""Progress of text recognition (OCR)."""

from typing_extensions import TypedDict


class Recognition(TypedDict):
    """How far text recognition (OCR) of the scanned pages is: `done` were read, `failed` are not tried again."""

    pages: int
    done: int
    failed: int
