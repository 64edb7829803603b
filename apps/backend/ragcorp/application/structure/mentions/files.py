"""Resolves mentioned files to documents, the nearest by path, and limits other mentions to these documents. Pure."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar
from uuid import UUID

from ragcorp.application.structure.mentions.path_proximity import common_prefix, is_within, steps_of, surroundings
from ragcorp.application.structure.mentions.shapes import Mention
from ragcorp.domain.ports.structure import Named
from ragcorp.domain.structure.entities import EntityRef, FileRef
from ragcorp.domain.structure.hydration import HydrationWarning, WarningCode
from ragcorp.domain.text.entity_names import file_name

FEW_CHUNKS, FEW_SHARE = 10, 0.01
"""A word is rare in at most this many chunks, or this share of all chunks."""

MAX_NEAR = 3
"""Maximum documents that a weak mention marks as near without anchoring them."""

MANY = 1000
"""Matches are counted up to this number."""

MAX_SHOWN = 80
"""Maximum characters of a mention in a warning."""

FILE_NAMES = ("file:", "stem:")
NUMBERED = ("clause:", "article:")

Scope = tuple[tuple[str, UUID | None], ...]
"""Files in query order by name, with their documents; None for an unknown file."""

Match = TypeVar("Match", bound=Hashable)

_UNKNOWN: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionedFile:
    """A document with the place of its first mention; ``weak``: only plain words name it."""

    file: FileRef
    order: int
    start: int
    end: int
    weak: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionedFiles:
    """``strong``: all places of certain mentions. ``nearby`` documents are not anchored, but preferred if ambiguous."""

    files: tuple[MentionedFile, ...] = ()
    strong: tuple[MentionedFile, ...] = ()
    nearby: tuple[MentionedFile, ...] = ()
    warnings: tuple[HydrationWarning, ...] = ()

    @property
    def near(self) -> tuple[UUID, ...]:
        return tuple(dict.fromkeys(file.file.document_id for file in self.nearby))

    @property
    def documents(self) -> tuple[UUID, ...]:
        """The documents whose entities are looked up."""
        return tuple(dict.fromkeys((*(file.file.document_id for file in self.files), *self.near)))


def mentioned_files(
    mentions: Sequence[Mention],
    files: Mapping[str, Named[FileRef]],
    named: Mapping[str, Named[EntityRef]],
    *,
    previous: Sequence[EntityRef] = (),
    frequencies: Mapping[str, int] = _UNKNOWN,
    chunks: int = 0,
) -> MentionedFiles:
    """Return the mentioned documents in the order of their mentions.

    A path matches the documents whose path ends with it; the nearest of them is taken. The stem of something that may
    also be a symbol (`` `login` ``) counts only if no symbol has that name. A weak mention counts if exactly one code
    file has that stem; a plain word must also be rare (``is_rare``), in a query about code, and not the owner of a
    symbol ("close de Client"). Up to MAX_NEAR documents of its name are near.
    """
    around = surroundings(mentions, previous)
    strong: list[MentionedFile] = []
    warnings: dict[str, HydrationWarning] = {}
    for order, mention in enumerate(mentions):
        if mention.weak:
            continue
        name, fits, matches = _fitting(mention, files, symbols=_names_a_symbol(mention, named))
        if not fits:
            continue
        nearness = nearness_of(files[name])
        chosen = min(fits, key=lambda file: (*around.nearness(file.path, nearness.get(file)), file.external_id))
        start, end = mention.span_of(name)
        strong.append(MentionedFile(file=chosen, order=order, start=start, end=end))
        if matches > 1 and not _is_whole(mention, chosen):
            shown = f"{chosen.path or chosen.external_id} is shown"
            warning = ambiguous(mention.written(name), matches, "files", shown, document_id=chosen.document_id)
            warnings.setdefault(warning.message, warning)
    owners = _owners(mentions, named)
    meant = [
        mention
        for mention in mentions
        if mention.word is None
        or (mention.code and (mention.start, mention.end) not in owners and is_rare(mention.word, frequencies, chunks))
    ]
    taken = [(file.start, file.end) for file in strong]
    weak, nearby = _weak(mentions, files, named, frozenset(map(id, meant)), taken)
    return MentionedFiles(
        files=_distinct([*strong, *weak]), strong=tuple(strong), nearby=tuple(nearby), warnings=tuple(warnings.values())
    )


class Scopes:
    """The files that the words of a query bind its mentions to.

    "of" and "in" bind clauses, headings and codes. Symbols are bound by "of" only: a symbol used in a file may be
    defined in another. Unbound clauses and headings belong to the named texts (not code) that nothing else is bound to.
    """

    def __init__(self, mentions: Sequence[Mention], files: MentionedFiles) -> None:
        self._strong = files.strong
        self._nearby = files.nearby
        self._unknown = {
            mention.span_of(name): mention.written(name)
            for mention in mentions
            if mention.extension
            and not any(mention.start < file.end and file.start < mention.end for file in files.strong)
            for name in [max(mention.names, key=lambda name: mention.span_of(name)[0])]
        }
        bound = {place for mention in mentions for place in mention.files}
        free = [file for file in self._strong if not file.file.is_code and (file.start, file.end) not in bound]
        self._left = _scope(free)

    def of(self, mention: Mention, name: str) -> Scope | None:
        """Return the files where a name of a mention may be found, None for any."""
        if name.startswith("symbol:"):
            return self._bound(mention, self._strong) if mention.files and mention.owned else None
        if mention.files:
            return self._bound(mention, [*self._strong, *self._nearby])
        elsewhere = name.startswith("identifier:") or mention.weak or mention.owned
        return None if elsewhere else self._left or None

    def _bound(self, mention: Mention, files: Sequence[MentionedFile]) -> Scope | None:
        scope: dict[str, UUID | None] = {}
        for place in mention.files:
            scope.update(_scope([file for file in files if (file.start, file.end) == place]))
            if place in self._unknown:
                scope[self._unknown[place]] = None
        return tuple(scope.items()) or None


def not_found(written: str, file: str, document_id: UUID | None) -> HydrationWarning:
    return HydrationWarning(
        code=WarningCode.NOT_FOUND,
        message=f"`{short(written)}` is not found in {short(file)}; no other is shown for it.",
        document_id=document_id,
    )


def _scope(files: Sequence[MentionedFile]) -> Scope:
    called = {file.file.path or file.file.external_id: file.file.document_id for file in files}
    return tuple(called.items())


def nearness_of(named: Named[Match]) -> Mapping[Match, float]:
    """Return the nearness given by the index; empty where it gave none."""
    return dict(zip(named.items, named.nearness, strict=False))


def is_rare(word: str, frequencies: Mapping[str, int], chunks: int) -> bool:
    """Return whether few enough chunks contain a plain word for it to be a name."""
    return frequencies.get(word, 0) <= max(FEW_CHUNKS, FEW_SHARE * chunks)


def ambiguous(
    written: str, matches: int, what: str, shown: str, *, document_id: UUID, key: str | None = None
) -> HydrationWarning:
    count = f"{MANY} or more" if matches >= MANY else str(matches)
    return HydrationWarning(
        code=WarningCode.AMBIGUOUS_MENTION,
        message=f"`{short(written)}` names {count} {what}; {shown}.",
        key=key,
        document_id=document_id,
    )


def short(written: str) -> str:
    """Return a mention shortened for a warning."""
    text = " ".join(written.replace("`", "'").split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def crosses(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether a span overlaps a different one of ``spans``."""
    return any(begin < end and start < finish and (begin, finish) != (start, end) for begin, finish in spans)


def longest_first(mentions: Sequence[Mention]) -> list[tuple[int, Mention]]:
    """Return the weak mentions with their index, longest first."""
    weak = [(order, mention) for order, mention in enumerate(mentions) if mention.weak]
    return sorted(weak, key=lambda entry: (entry[1].start - entry[1].end, entry[1].start, entry[0]))


def _weak(
    mentions: Sequence[Mention],
    files: Mapping[str, Named[FileRef]],
    named: Mapping[str, Named[EntityRef]],
    meant: frozenset[int],
    taken: list[tuple[int, int]],
) -> tuple[list[MentionedFile], list[MentionedFile]]:
    certain: list[MentionedFile] = []
    nearby: list[MentionedFile] = []
    for order, mention in longest_first(mentions):
        for name in (name for name in mention.names if name.startswith(FILE_NAMES)):
            start, end = mention.span_of(name)
            of_name = files.get(name)
            if of_name is None or crosses(start, end, taken):
                continue
            fits = [file for file in of_name.items if _fits(mention, name, file)]
            code = [file for file in fits if file.is_code]
            whole = of_name.matches == len(of_name.items)
            if whole and len(code) == 1 and id(mention) in meant:
                certain.append(MentionedFile(file=code[0], order=order, start=start, end=end, weak=True))
                taken.append((start, end))
                break
            if whole and 0 < len(fits) <= MAX_NEAR:
                nearby += [MentionedFile(file=file, order=order, start=start, end=end, weak=True) for file in fits]
                taken.append((start, end))
                break
        if mention.word is None and any(name in named and named[name].matches == 1 for name in mention.names):
            taken.append((mention.start, mention.end))
    return certain, nearby


def _owners(mentions: Sequence[Mention], named: Mapping[str, Named[EntityRef]]) -> frozenset[tuple[int, int]]:
    """Return the spans of words that name the owner of a found symbol."""
    owners: set[tuple[int, int]] = set()
    for mention in mentions:
        entities = [entity for name in mention.names if name in named for entity in named[name].items]
        if mention.owner_span and any(is_within(entity, mention.owners) for entity in entities):
            owners.add(mention.owner_span)
    return frozenset(owners)


def _fitting(mention: Mention, files: Mapping[str, Named[FileRef]], *, symbols: bool) -> tuple[str, list[FileRef], int]:
    for name in mention.names:
        of_name = files.get(name)
        if of_name is None or not name.startswith(FILE_NAMES) or (symbols and name.startswith("stem:")):
            continue
        fits = [file for file in of_name.items if _fits(mention, name, file)] or _nearest_tail(mention, of_name.items)
        if fits:
            return name, fits, of_name.matches if len(fits) == len(of_name.items) else len(fits)
    return "", [], 0


def _fits(mention: Mention, name: str, file: FileRef) -> bool:
    """Return whether a document's path ends with the folders of a mention, or a rooted mention ends with the path."""
    if mention.extension and name.startswith("stem:") and not file.path.casefold().endswith(f".{mention.extension}"):
        return False
    return any(_ends_alike(mention, steps_of(path)) for path in (file.path, file.external_id))


def _ends_alike(mention: Mention, steps: tuple[str, ...]) -> bool:
    folders = steps[:-1]
    if not mention.folders:
        return True
    if len(folders) >= len(mention.folders):
        return folders[len(folders) - len(mention.folders) :] == mention.folders
    return mention.rooted and bool(folders) and mention.folders[len(mention.folders) - len(folders) :] == folders


def _nearest_tail(mention: Mention, files: Sequence[FileRef]) -> list[FileRef]:
    """Return the documents that share most folders with the end of an absolute path: their prefix may differ."""
    if not mention.rooted or not mention.extension:
        return []
    folders = mention.folders[::-1]
    shared = {file: common_prefix(steps_of(file.path)[-2::-1], folders) for file in files}
    most = max(shared.values(), default=0)
    return [file for file in files if most and shared[file] == most]


def _is_whole(mention: Mention, file: FileRef) -> bool:
    """Return whether a mention is the full path of the file."""
    return bool(mention.folders) and steps_of(file.path) == (*mention.folders, steps_of(mention.text)[-1])


def _names_a_symbol(mention: Mention, named: Mapping[str, Named[EntityRef]]) -> bool:
    return any(name in named and named[name].matches for name in mention.names if not name.startswith(FILE_NAMES))


def _distinct(files: Sequence[MentionedFile]) -> tuple[MentionedFile, ...]:
    kept: dict[UUID, MentionedFile] = {}
    for item in sorted(files, key=lambda file: (file.order, file_name(file.file.path))):
        kept.setdefault(item.file.document_id, item)
    return tuple(kept.values())
