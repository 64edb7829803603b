"""Use case: search files, and return the lines around the matches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, islice

import anyio.to_thread

from ragcorp.application.files.grep_ranking import MAX_PASSAGE_LINES, passages_of
from ragcorp.application.files.keyword_extraction import foremost, given_terms
from ragcorp.domain.exceptions import FileAccessError, FileIsBinaryError, FileTooLargeError
from ragcorp.domain.files.passage_text import MAX_LINE_TEXTS, BoundedText, bounded, text_around
from ragcorp.domain.files.values import (
    ChunkPlace,
    FileAccess,
    FileText,
    GrepMode,
    GrepPassage,
    GrepRequest,
    GrepResult,
    LineSearch,
    RankedPassage,
    SkippedFiles,
    denied,
)
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.file_search import FileDocuments, FileLines, FileRepository
from ragcorp.domain.principal import Principal

SEARCH_SHARE = 0.75
"""Share of the remaining time for finding lines; the rest is for reading the lines around them."""

MAX_FILES = 2_000
"""Files that are checked against storage, best first. Further files are omitted: the result is then ``cut``."""

SPARE_PASSAGES = 20
"""Passages that are read beyond the requested ones, as some may be withheld or gone."""

_READERS = 4

_Place = tuple[str, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    terms: tuple[str, ...]
    fold_accents: bool = False
    relaxed: bool = False
    left_out: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Texts:
    """Texts of passages. ``gone``: by path, why nothing of a file could be read."""

    of: dict[_Place, BoundedText] = field(default_factory=dict)
    gone: dict[str, FileAccessError | None] = field(default_factory=dict)
    late: bool = False

    def add(self, further: _Texts) -> None:
        self.of |= further.of
        self.gone |= further.gone
        self.late = self.late or further.late


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lookup:
    """The paths that the caller may see, and the chunks of passages. ``cut``: not all paths were checked."""

    shown: frozenset[str]
    chunks: dict[_Place, ChunkPlace | None]
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepFiles:
    """Searches the files for a caller, within ``timeout_seconds``; then it returns the results so far."""

    files: FileRepository
    documents: FileDocuments
    access: FileAccess
    timeout_seconds: float

    async def grep(self, request: GrepRequest, *, principal: Principal, filters: Filters = ()) -> GrepResult:
        """Return the best passages.

        A file that is stored as a document which the caller may not read, or the filters exclude, leaves no trace in
        the result: every counted file is checked against storage, and if no other file contains the whole query, its
        words are searched as if there had been no match.

        Raises InvalidInputError, FileAccessDeniedError, SourceUnavailableError and StorageUnavailableError.
        """
        if not self.files.roots or not self.access.allows(principal):
            raise denied(())
        deadline = asyncio.get_running_loop().time() + self.timeout_seconds
        result: GrepResult | None = None
        for attempt in _attempts(request):
            result = await self._attempt(attempt, request, principal, filters, deadline)
            if result.files or result.timed_out:
                break
        assert result is not None  # noqa: S101 - there is always one attempt
        return result

    async def _attempt(
        self, attempt: _Attempt, request: GrepRequest, principal: Principal, filters: Filters, deadline: float
    ) -> GrepResult:
        search = LineSearch(
            terms=attempt.terms,
            mode=request.mode,
            case=request.case,
            fold_accents=attempt.fold_accents,
            globs=request.globs,
            gitignore=request.gitignore,
        )
        left = deadline - asyncio.get_running_loop().time()
        matches = await self.files.search(search, seconds=max(0.0, SEARCH_SHARE * left))
        ranking_terms = () if request.mode is GrepMode.REGEX else attempt.terms
        # twenty thousand lines take a moment: off the event loop
        ranked = await anyio.to_thread.run_sync(partial(passages_of, matches, terms=ranking_terms))
        count = 2 * request.max_passages + SPARE_PASSAGES
        texts = await self._read(ranked[:count], deadline)
        stored = await self._look_up(ranked, texts, principal, filters)
        further = [passage for passage in ranked[count:] if passage.path in stored.shown]
        if further and sum(path in stored.shown for path, *_ in texts.of) < request.max_passages:
            # passages that were read are withheld, and precede others
            texts.add(await self._read(further[:count], deadline))
            stored = await self._look_up(ranked, texts, principal, filters)
        remaining = stored.shown - texts.gone.keys()
        shown = replace(matches, files=tuple(file for file in matches.files if file.path in remaining))
        ranked = await anyio.to_thread.run_sync(partial(passages_of, shown, terms=ranking_terms))
        readable = [passage for passage in ranked if _place(passage) in texts.of]
        chosen = await self._one_a_chunk(readable, stored.chunks, request.max_passages, texts, deadline)
        passages = [_shown(passage, texts, attempt, stored.chunks) for passage in chosen]
        fitting = _fitting(passages, request.max_characters)
        return GrepResult(
            passages=tuple(passages[:fitting]),
            terms=attempt.terms,
            files=len(shown.files),
            matched_lines=sum(len({mark.line for mark in file.marks}) for file in shown.files),
            searched=max(matches.searched, len(shown.files)),
            skipped=_skipped(matches.skipped, {path: why for path, why in texts.gone.items() if path in stored.shown}),
            relaxed=attempt.relaxed,
            cut=matches.cut or stored.cut or fitting < len(passages) or any(file.cut for file in shown.files),
            timed_out=matches.timed_out or texts.late,
            unavailable=matches.unavailable,
            left_out=attempt.left_out,
        )

    async def _read(self, passages: Sequence[RankedPassage], deadline: float) -> _Texts:
        """Read passages until the deadline, file by file, the best first."""
        by_path: dict[str, list[RankedPassage]] = {}
        for passage in passages:
            by_path.setdefault(passage.path, []).append(passage)
        texts, waiting = _Texts(), iter(by_path.items())
        try:
            async with asyncio.timeout_at(deadline):
                await asyncio.gather(*(self._read_files(waiting, texts) for _ in range(_READERS)))
        except TimeoutError:
            texts.late = True
        return texts

    async def _read_files(self, waiting: Iterator[tuple[str, list[RankedPassage]]], texts: _Texts) -> None:
        for path, passages in waiting:
            spans = [(passage.line_start, passage.line_end) for passage in passages]
            first = [min(mark.line for mark in passage.marks) for passage in passages]
            try:
                read = await self.files.read_passages(path, spans, kept=first)
            except FileAccessError as error:
                texts.gone[path] = error
                continue
            for passage, text in zip(passages, read, strict=True):
                kept = _bounded(passage, text)
                if kept is None:
                    texts.gone[path] = None
                else:
                    texts.of[_place(passage)] = kept

    async def _look_up(
        self, ranked: Sequence[RankedPassage], texts: _Texts, principal: Principal, filters: Filters
    ) -> _Lookup:
        """Ask storage: about each passage that was read, and each other file in which there is a match."""
        best_of: dict[str, RankedPassage] = {}
        for passage in ranked:
            best_of.setdefault(passage.path, passage)
        checked = dict.fromkeys(islice(best_of, MAX_FILES))
        read = [passage for passage in ranked if passage.path in checked and _place(passage) in texts.of]
        covered = {passage.path for passage in read}
        unread = [best_of[path] for path in checked if path not in covered]
        lines = [_lines(passage, texts.of[_place(passage)]) for passage in read]
        lines += [_lines(passage, None) for passage in unread]
        answers = await self.documents.look_up(lines, principal=principal, filters=filters) if lines else []
        pairs = list(zip((*read, *unread), answers, strict=True))
        hidden = {passage.path for passage, answer in pairs if not (answer.readable and answer.passes)}
        return _Lookup(
            shown=frozenset(checked) - hidden,
            chunks={_place(passage): answer.chunk for passage, answer in pairs[: len(read)]},
            cut=len(best_of) > MAX_FILES,
        )

    async def _one_a_chunk(
        self,
        passages: Sequence[RankedPassage],
        chunks: dict[_Place, ChunkPlace | None],
        limit: int,
        texts: _Texts,
        deadline: float,
    ) -> list[RankedPassage]:
        """Return the first ``limit``, those of one chunk merged unless that is too long or unreadable."""
        groups: dict[ChunkPlace | _Place, list[RankedPassage]] = {}
        for passage in passages:
            groups.setdefault(chunks.get(_place(passage)) or _place(passage), []).append(passage)
        first = list(islice(groups.values(), limit))
        joined = [_joined(group) for group in first]
        read = await self._read([passage for passage in joined if _place(passage) not in texts.of], deadline)
        texts.of |= read.of
        for passage, group in zip(joined, first, strict=True):
            chunks[_place(passage)] = chunks.get(_place(group[0]))
        return [
            passage if _place(passage) in texts.of else group[0] for passage, group in zip(joined, first, strict=True)
        ]


def _attempts(request: GrepRequest) -> Iterator[_Attempt]:
    if request.mode is GrepMode.REGEX:
        yield _Attempt(terms=(request.query,))
        return
    if request.terms:
        yield _Attempt(terms=tuple(dict.fromkeys(request.terms)), fold_accents=True)
        return
    yield _Attempt(terms=(request.query,))
    words = tuple(term for term in given_terms(request.query) if term != request.query)
    if words:
        kept = foremost(words)
        yield _Attempt(terms=kept, relaxed=True, left_out=tuple(word for word in words if word not in kept))


def _fitting(passages: Sequence[GrepPassage], limit: int | None) -> int:
    """Return how many of the first passages fit into ``limit`` characters."""
    lengths = accumulate(len(passage.text) for passage in passages)
    return len(passages) if limit is None else sum(length <= limit for length in lengths)


def _place(passage: RankedPassage) -> _Place:
    return passage.path, passage.line_start, passage.line_end


def _joined(group: Sequence[RankedPassage]) -> RankedPassage:
    start, end = min(passage.line_start for passage in group), max(passage.line_end for passage in group)
    if not group[1:] or end - start >= MAX_PASSAGE_LINES:
        return group[0]
    marks = tuple(sorted(mark for passage in group for mark in passage.marks))
    return replace(group[0], line_start=start, line_end=end, marks=marks)


def _bounded(passage: RankedPassage, text: FileText) -> BoundedText | None:
    if text.line_end < text.line_start:
        return None
    return bounded(text.text, line_start=text.line_start, marks=passage.marks)


def _lines(passage: RankedPassage, text: BoundedText | None) -> FileLines:
    """Return the lookup for storage: the passage, or without its text its file only."""
    if text is None:
        return FileLines(names=passage.names, line_start=passage.line_start, line_end=passage.line_start)
    lines = text.text.split("\n")
    matched = (lines[mark.line - text.line_start][mark.start : mark.end] for mark in text.marks)
    first_marks = {mark.line: mark for mark in reversed(text.marks)}
    around = (text_around(lines[line - text.line_start], first_marks[line]) for line in sorted(first_marks))
    return FileLines(
        names=passage.names,
        line_start=text.line_start,
        line_end=text.line_end,
        matched_lines=tuple(dict.fromkeys(mark.line for mark in text.marks)),
        matched_texts=tuple(dict.fromkeys(matched)),
        line_texts=tuple(islice(dict.fromkeys(filter(None, around)), MAX_LINE_TEXTS)),
    )


def _shown(
    passage: RankedPassage, texts: _Texts, attempt: _Attempt, chunks: dict[_Place, ChunkPlace | None]
) -> GrepPassage:
    text = texts.of[_place(passage)]
    return GrepPassage(
        path=passage.path,
        line_start=text.line_start,
        line_end=text.line_end,
        text=text.text,
        marks=text.marks,
        terms=tuple(attempt.terms[number] for number in sorted({mark.term for mark in text.marks})),
        score=passage.score,
        chunk=chunks.get(_place(passage)),
    )


def _skipped(skipped: SkippedFiles, gone: Mapping[str, FileAccessError | None]) -> SkippedFiles:
    """Add the files that had a match and could not be read afterwards."""
    binary = sum(isinstance(error, FileIsBinaryError) for error in gone.values())
    too_large = sum(isinstance(error, FileTooLargeError) for error in gone.values())
    return SkippedFiles(
        binary=skipped.binary + binary,
        too_large=skipped.too_large + too_large,
        refused=skipped.refused + len(gone) - binary - too_large,
    )
