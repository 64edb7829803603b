"""What must hold of the passages that are made of matches, whatever they are; and an example by hand."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.files.grep_ranking import MAX_PASSAGE_LINES, passages_of
from ragcorp.domain.files.passage_text import bounded
from ragcorp.domain.files.values import FileMatches, Mark, MatchedFile, RankedPassage

TERMS = ("contrato", "plazo", "ñ")


def matched(path: str, *lines: tuple[int, int]) -> MatchedFile:
    """Return a file with a mark for each (line, term)."""
    marks: dict[Mark, None] = {}
    for line, term in lines:
        start = sum(mark.line == line for mark in marks)
        marks[Mark(line, start, start + 1, term)] = None
    return MatchedFile(path=path, names=(path,), marks=tuple(marks))


def spans(*files: MatchedFile, searched: int = 10) -> list[tuple[str, int, int]]:
    passages = passages_of(FileMatches(files=files, searched=searched), terms=TERMS)
    return [(passage.path, passage.line_start, passage.line_end) for passage in passages]


class TestPassages:
    def test_a_match_brings_ten_lines_before_and_ten_behind(self) -> None:
        assert spans(matched("d/a.txt", (50, 0))) == [("d/a.txt", 40, 60)]

    def test_none_before_the_first_line(self) -> None:
        assert spans(matched("d/a.txt", (4, 0))) == [("d/a.txt", 1, 14)]
        assert spans(matched("d/a.txt", (11, 0))) == [("d/a.txt", 1, 21)]

    def test_matches_twenty_lines_apart_share_a_passage(self) -> None:
        assert spans(matched("d/a.txt", (30, 0), (50, 0))) == [("d/a.txt", 20, 60)]

    def test_matches_twenty_one_lines_apart_do_not(self) -> None:
        assert spans(matched("d/a.txt", (30, 0), (51, 0))) == [("d/a.txt", 20, 40), ("d/a.txt", 41, 61)]

    def test_a_long_run_is_cut_between_two_matches(self) -> None:
        """Matches at 100, 110, ..., 400: 100 to 270 fill 191 lines with what is around them, 280 would make 201."""
        run = matched("d/a.txt", *((line, 0) for line in range(100, 401, 10)))
        passages = passages_of(FileMatches(files=(run,), searched=1), terms=TERMS)
        in_file = sorted(passages, key=lambda passage: passage.line_start)
        assert [(item.line_start, item.line_end) for item in in_file] == [(90, 280), (270, 410)]
        assert [mark.line for mark in in_file[0].marks] == list(range(100, 271, 10))
        assert [mark.line for mark in in_file[1].marks] == list(range(280, 401, 10))


class TestOrder:
    def test_by_hand(self) -> None:
        """N = 10; term 0 is in 4 files, term 1 in 2.

        idf(0) = ln(1 + 6.5 / 4.5) = 0.893818, idf(1) = ln(1 + 8.5 / 2.5) = 1.481605; together 2.375423.
        """
        files = (
            matched("d/deep/er/a.txt", (5, 0)),
            matched("d/plazo.txt", (5, 0)),
            matched("d/b.txt", (5, 0), (5, 0)),
            matched("d/c.txt", (100, 0), (110, 1), (200, 1)),
            matched("d/z.txt", (7, 1)),
        )
        passages = passages_of(FileMatches(files=files, searched=10), terms=TERMS)
        assert [(passage.path, passage.line_start, passage.terms) for passage in passages] == [
            ("d/c.txt", 90, (0, 1)),
            ("d/c.txt", 190, (1,)),
            ("d/z.txt", 1, (1,)),
            ("d/b.txt", 1, (0,)),
            ("d/plazo.txt", 1, (0,)),
            ("d/deep/er/a.txt", 1, (0,)),
        ]
        whole = 0.893818 + 1.481605
        expected = [2.5, *[1 + 1.481605 / whole / 2] * 2, *[1 + 0.893818 / whole / 2] * 3]
        assert all(
            math.isclose(passage.score, score, abs_tol=1e-6) for passage, score in zip(passages, expected, strict=True)
        )

    def test_a_path_that_holds_a_term_comes_first_whatever_its_accents(self) -> None:
        assert [path for path, *_ in spans(matched("d/a.txt", (5, 0)), matched("d/x/y/CONTRÁTO.txt", (5, 0)))] == [
            "d/x/y/CONTRÁTO.txt",
            "d/a.txt",
        ]

    def test_the_name_of_the_root_is_no_part_of_the_path(self) -> None:
        assert [path for path, *_ in spans(matched("plazo/b.txt", (5, 0)), matched("a/a.txt", (5, 0)))] == [
            "a/a.txt",
            "plazo/b.txt",
        ]


marks = st.lists(st.tuples(st.integers(1, 700), st.integers(0, 2)), min_size=1, max_size=60)
trees = st.dictionaries(
    st.sampled_from(["d/a.txt", "d/plazo.md", "d/x/b.txt", "e/a.txt", "e/x/y/c.txt"]), marks, min_size=1
)


@st.composite
def matches(draw: st.DrawFn) -> FileMatches:
    files = tuple(matched(path, *lines) for path, lines in draw(trees).items())
    return FileMatches(files=files, searched=draw(st.integers(0, 50)))


def by_path(passages: tuple[RankedPassage, ...]) -> dict[str, list[RankedPassage]]:
    grouped: dict[str, list[RankedPassage]] = {}
    for passage in sorted(passages, key=lambda passage: passage.line_start):
        grouped.setdefault(passage.path, []).append(passage)
    return grouped


@given(matches())
def test_every_mark_stands_in_one_passage_that_holds_its_line(found: FileMatches) -> None:
    passages = by_path(passages_of(found, terms=TERMS))
    assert set(passages) == {file.path for file in found.files}
    for file in found.files:
        of_file = passages[file.path]
        assert [mark for item in of_file for mark in item.marks] == sorted(file.marks)
        for item in of_file:
            assert all(item.line_start <= mark.line <= item.line_end for mark in item.marks)
            assert item.terms == tuple(sorted({mark.term for mark in item.marks}))


@given(matches())
def test_passages_are_bounded_apart_and_hold_the_lines_around(found: FileMatches) -> None:
    for of_file in by_path(passages_of(found, terms=TERMS)).values():
        for item in of_file:
            assert 1 <= item.line_start <= item.line_end
            assert item.line_end - item.line_start < MAX_PASSAGE_LINES
            for mark in item.marks:
                assert item.line_start <= max(1, mark.line - 10)
                assert mark.line + 10 <= item.line_end
        for one, other in pairwise(of_file):
            cut = other.marks[0].line - one.marks[-1].line <= 20
            assert (one.line_end < other.line_start) != cut
            if cut:  # together they would be too long
                assert other.marks[0].line + 10 - one.line_start >= MAX_PASSAGE_LINES - 10


@given(matches(), st.randoms(use_true_random=False))
def test_the_order_is_total_and_that_of_the_scores(found: FileMatches, random: object) -> None:
    passages = passages_of(found, terms=TERMS)
    shuffled = list(found.files)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert passages_of(FileMatches(files=tuple(shuffled), searched=found.searched), terms=TERMS) == passages
    for one, other in pairwise(passages):
        assert len(one.terms) >= len(other.terms)
        assert one.score >= other.score
    for passage in passages:
        assert len(passage.terms) < passage.score <= len(passage.terms) + 0.5


class TestBoundedText:
    def test_keeps_what_is_short(self) -> None:
        kept = bounded("a\nbcd\ne", line_start=7, marks=(Mark(8, 0, 2, 0),))
        assert kept == (7, 9, "a\nbcd\ne", (Mark(8, 0, 2, 0),))

    def test_leaves_out_marks_that_the_text_does_not_hold(self) -> None:
        kept = bounded("ab", line_start=7, marks=(Mark(7, 1, 5, 0), Mark(7, 2, 4, 0), Mark(8, 0, 1, 0)))
        assert kept is not None
        assert kept.marks == (Mark(7, 1, 2, 0),)
        assert bounded("ab", line_start=7, marks=(Mark(9, 0, 1, 0),)) is None

    def test_grows_from_the_first_mark_over_the_matched_lines_first(self) -> None:
        text = "\n".join(["x" * 9] * 7)
        # lines of ten characters with their ends: the first match, then down to the last one, then around
        marks = (Mark(3, 0, 1, 0), Mark(5, 0, 1, 0))
        kept = bounded(text, line_start=1, marks=marks, limit=29)
        assert kept is not None
        assert (kept.line_start, kept.line_end, kept.marks) == (3, 5, marks)
        kept = bounded(text, line_start=1, marks=marks, limit=49)
        assert kept is not None
        assert (kept.line_start, kept.line_end) == (2, 6)

    def test_cuts_a_line_that_is_too_long_around_its_first_mark(self) -> None:
        line = "a" * 1000 + "CLAVE" + "b" * 1000 + "CLAVE"
        kept = bounded(f"x\n{line}\ny", line_start=1, marks=(Mark(2, 1000, 1005, 0), Mark(2, 2005, 2010, 0)), limit=400)
        assert kept is not None
        assert (kept.line_start, kept.line_end) == (2, 2)
        assert kept.text == "a" * 200 + "CLAVE" + "b" * 195
        assert kept.marks == (Mark(2, 200, 205, 0),)


@given(
    st.lists(st.text("ab", max_size=30), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 29)), min_size=1, max_size=6),
    st.integers(1, 120),
)
def test_a_bounded_text_is_part_of_the_text_and_its_marks_mark_the_same(
    lines: list[str], places: list[tuple[int, int]], limit: int
) -> None:
    marks = [Mark(line + 1, start, start + 1, 0) for line, start in dict.fromkeys(places)]
    there = [mark for mark in marks if mark.line <= len(lines) and mark.start < len(lines[mark.line - 1])]
    kept = bounded("\n".join(lines), line_start=1, marks=marks, limit=limit)
    assert (kept is None) == (not there)
    if kept is None:
        return
    assert len(kept.text) <= limit
    part = kept.text.split("\n")
    assert len(part) == kept.line_end - kept.line_start + 1
    assert all(text in lines[kept.line_start - 1 + number] for number, text in enumerate(part))
    assert kept.marks
    for mark in kept.marks:
        assert mark.start < mark.end <= len(part[mark.line - kept.line_start])
