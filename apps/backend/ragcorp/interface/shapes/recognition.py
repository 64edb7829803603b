"""Progress of text recognition (OCR)."""

from typing_extensions import TypedDict

from ragcorp.domain.recognition import RecognitionCounts


class Recognition(TypedDict):
    """How far text recognition (OCR) of the scanned pages is: `done` were read, `failed` are not tried again."""

    pages: int
    done: int
    failed: int


def recognition_in_words(counts: RecognitionCounts | None) -> str:
    if counts is None:
        return ""
    words = f"{counts.done:,} of {counts.pages:,} scanned pages read"
    return f"{words}, {counts.failed:,} failed" if counts.failed else words
