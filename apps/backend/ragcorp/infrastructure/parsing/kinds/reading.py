"""What a reader of one kind of file is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind, UnreadPart
from ragcorp.domain.recognition import RecognizedPage

Unread = tuple[UnreadPart, ...]
_MOST_PLACES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """``member`` reads a file inside the file; None if it cannot be read.

    ``recognizes``: scanned pages are recognised later. ``recognized``: those that were, by number (from 1).
    """

    max_characters: int
    member: Callable[[SourceFile], ParsedText | None]
    recognizes: bool = False
    recognized: Mapping[int, RecognizedPage] = field(default_factory=dict)


Reader = Callable[[SourceFile, Reading], ParsedText]


def unread(kind: UnreadKind, *places: str, count: int | None = None) -> Unread:
    """Return the parts left out, as a tuple to add to others: empty if there are none."""
    number = len(places) if count is None else count
    return (UnreadPart(kind=kind, count=number, places=places[:_MOST_PLACES]),) if number else ()


def read_members(files: list[SourceFile], reading: Reading, kind: UnreadKind) -> tuple[list[str], Unread]:
    """Return a section for each file that can be read, headed by its name, and what is left out."""
    sections: list[str] = []
    left_out: list[str] = []
    parts: Unread = ()
    size = 0
    for file in files:
        name = file.filename or file.media_type
        found = reading.member(file) if size <= reading.max_characters else None
        if found is None:
            left_out.append(name)
            continue
        size += len(found.text)
        sections.append(f"# {name}\n\n{found.text.strip()}")
        parts += found.unread
    return sections, unread(kind, *left_out) + parts
