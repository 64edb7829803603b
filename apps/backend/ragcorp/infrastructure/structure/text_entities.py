"""Partitions a text into sections, clauses and articles, and finds the codes in it."""

from collections.abc import Sequence

from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.text.checks import is_blank
from ragcorp.domain.text.clause_numbers import enclosing_numbers, number_at
from ragcorp.domain.text.entity_names import heading_name, is_empty
from ragcorp.infrastructure.markdown_blocks import BlockHeading, MarkdownBlocks, markdown_blocks
from ragcorp.infrastructure.structure.beginnings import FIGURE
from ragcorp.infrastructure.structure.clauses import clause_marks
from ragcorp.infrastructure.structure.identifiers import identifier_spans
from ragcorp.infrastructure.structure.text_span import Lines, Mark, TextSpan, UniqueKeys

MAX_LABEL = 200


def text_entities(text: str, *, path: str, plain: bool) -> tuple[TextSpan, ...]:
    """Return the entities of a text other than code: its parts in order, then its identifiers.

    The own spans of the parts follow one another without a gap, from the first line that is not blank. ``plain``: a
    line that looks like a Markdown heading is not one.
    """
    if is_blank(text):
        return ()
    lines = Lines(text)
    blocks = MarkdownBlocks() if plain else markdown_blocks(text)
    closed = [(0, blocks.body_start), *blocks.fences]
    marks = {heading.offset: _section(heading) for heading in blocks.headings}
    marks |= {mark.offset: mark for mark in clause_marks(text, lines, headings=blocks.headings, closed=closed)}
    ordered = [marks[offset] for offset in sorted(marks)]
    keys = UniqueKeys()
    spans = _partition(text, lines, ordered, path=path, keys=keys)
    codes = identifier_spans(text, lines, path=path, spans=spans, headings=frozenset(marks), keys=keys)
    return (*spans, *codes)


def _section(heading: BlockHeading) -> Mark:
    names = [heading_name(heading.title)]
    number = number_at(heading.title)
    if number:
        names.append(heading_name(heading.title[number.end :]))
    return Mark(
        offset=heading.offset,
        kind=EntityKind.SECTION,
        label=heading.title,
        name=heading.title,
        names=tuple(name for name in dict.fromkeys(names) if not is_empty(name)),
        level=heading.level,
    )


def _partition(text: str, lines: Lines, marks: Sequence[Mark], *, path: str, keys: UniqueKeys) -> tuple[TextSpan, ...]:
    starts = [mark.offset for mark in marks]
    ends = [*starts[1:], len(text)]
    parents, whole_ends = _nesting(marks, len(text))
    mark_keys = [keys.of(f"{path}#{mark.label[:MAX_LABEL]}") for mark in marks]
    spans: list[TextSpan] = []
    before = text[: starts[0]] if starts else text
    if not is_blank(before):
        end = len(before)
        spans.append(
            TextSpan(
                key=path, kind=EntityKind.FILE, name=path, names=(), container=None, start=0, end=end, line_start=1,
                line_end=lines.last(0, end),
            )
        )  # fmt: skip
    for position, mark in enumerate(marks):
        parent = parents[position]
        spans.append(
            TextSpan(
                key=mark_keys[position],
                kind=mark.kind,
                name=mark.name,
                names=mark.names,
                container=None if parent is None else mark_keys[parent],
                start=mark.offset,
                end=ends[position],
                line_start=lines.index(mark.offset) + 1,
                line_end=lines.last(mark.offset, whole_ends[position]),
            )
        )
    return tuple(spans)


def _nesting(marks: Sequence[Mark], length: int) -> tuple[list[int | None], list[int]]:
    """Return the parent of each mark, and the end of its whole span."""
    parents: list[int | None] = []
    whole_ends = [length] * len(marks)
    above: list[int] = []
    for position, mark in enumerate(marks):
        while above and not _contains(marks[above[-1]], mark):
            whole_ends[above.pop()] = mark.offset
        parents.append(above[-1] if above else None)
        above.append(position)
    return parents, whole_ends


def _contains(outer: Mark, inner: Mark) -> bool:
    """Return whether an earlier part contains a later one: by number, then heading level, then rank."""
    if outer.number is not None and inner.number is not None:
        if outer.number in enclosing_numbers(inner.number):
            return True
        if min(outer.rank or 0, inner.rank or 0) >= FIGURE:
            return False
    if outer.level is not None and inner.level is not None:
        return outer.level < inner.level
    if outer.level is not None and outer.kind is EntityKind.SECTION and inner.kind is not EntityKind.SECTION:
        return True
    if outer.rank is not None and inner.rank is not None:
        return outer.rank < inner.rank
    return outer.level is not None and inner.level is None
