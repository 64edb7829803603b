"""Inputs and helpers shared by the readers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind, UnreadPart
from ragcorp.domain.files.part_names import MAX_PART_BYTES, MAX_PARTS, part_name
from ragcorp.domain.recognition import RecognizedPage
from ragcorp.domain.unread import MAX_PLACES
from ragcorp.infrastructure.parsing import media_types

Unread = tuple[UnreadPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader needs to know besides the file.

    ``recognizes``: scanned pages are recognised later. ``recognized``: those that were, by number (from 1).
    """

    max_characters: int
    recognizes: bool = False
    recognized: Mapping[int, RecognizedPage] = field(default_factory=dict)


Reader = Callable[[SourceFile, Reading], ParsedText]


def unread(kind: UnreadKind, *places: str, count: int | None = None) -> Unread:
    """Return the parts left out, as a tuple to add to others: empty if there are none."""
    number = len(places) if count is None else count
    return (UnreadPart(kind=kind, count=number, places=places[:MAX_PLACES]),) if number else ()


@dataclass(slots=True, kw_only=True)
class Parts:
    """Collects the files inside a file, within limits; names those that are left out. ``names``: all, in order."""

    kind: UnreadKind
    files: list[SourceFile] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, name: str, content: bytes, *, media_type: str = "") -> None:
        shown = self.named(name, media_type)
        if self.takes(shown, media_type, len(content)):
            self.take(shown, content, media_type)
        else:
            self.left_out.append(shown)

    def named(self, name: str, media_type: str = "") -> str:
        """Return the name under which a file is known, and count it."""
        shown = part_name(name) or f"{self.kind}-{len(self.names) + 1}{media_types.suffix_for(media_type)}"
        self.names.append(shown)
        return shown

    def takes(self, name: str, media_type: str, size: int) -> bool:
        return (
            0 < size <= MAX_PART_BYTES - self.size
            and len(self.files) < MAX_PARTS
            and media_types.known_type(name, media_type) is not None
        )

    def take(self, name: str, content: bytes, media_type: str = "") -> None:
        self.size += len(content)
        self.files.append(SourceFile(content=content, media_type=media_type, filename=name))

    @property
    def unread(self) -> Unread:
        return unread(self.kind, *self.left_out)
