"""Turns matches in files into passages, best first.

A passage is the lines from max(1, N-10) to N+10 around a match at line N; matches of one file that are at most 20 lines
apart share one. No passage is longer than 200 lines: a longer run of matches is cut between two of them, and the lines
around the cut belong to both parts. Order of the passages:

1. by number of distinct terms, descending;
2. then by rarity: the sum over those terms of idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5)), where n of the N searched
   files contain t;
3. then by density: marks per line from N-10 to N+10;
4. then by path: first those that contain a term, then those with fewer folders, then alphabetically;
5. then by line.

score = distinct terms + (rarity / sum of the idf of all terms) / 2, which combines the first two keys; it is
between 1 and the number of terms + 0.5.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from ragcorp.domain.files.values import CONTEXT_LINES, MERGE_LINES, FileMatches, Mark, RankedPassage
from ragcorp.domain.text.folding import folded

MAX_PASSAGE_LINES = 200
_AROUND = 2 * CONTEXT_LINES + 1


def passages_of(matches: FileMatches, *, terms: Sequence[str]) -> tuple[RankedPassage, ...]:
    """Return the passages of all files; ``line_end`` may exceed the file. Marks number the ``terms``."""
    rarity_of = _rarities(matches)
    whole = math.fsum(rarity_of.values())
    folded_terms = [folded(term) for term in terms]
    keyed = []
    for file in matches.files:
        path = folded(file.path.partition("/")[2])
        path_key = (not any(term in path for term in folded_terms), path.count("/"), file.path)
        for marks in _runs(file.marks):
            first, last = marks[0].line, marks[-1].line
            distinct = tuple(sorted({mark.term for mark in marks}))
            rarity = math.fsum(rarity_of[term] for term in distinct)
            passage = RankedPassage(
                path=file.path,
                names=file.names,
                line_start=max(1, first - CONTEXT_LINES),
                line_end=last + CONTEXT_LINES,
                marks=tuple(marks),
                terms=distinct,
                score=len(distinct) + rarity / whole / 2,
            )
            density = len(marks) / (last - first + _AROUND)
            keyed.append(((-len(distinct), -rarity, -density, path_key, first), passage))
    return tuple(passage for _, passage in sorted(keyed, key=lambda entry: entry[0]))


def _runs(marks: Sequence[Mark]) -> Iterator[list[Mark]]:
    """Yield the marks that share a passage, in order of line."""
    run: list[Mark] = []
    for line, of_line in groupby(sorted(marks), key=lambda mark: mark.line):
        if run and (line - run[-1].line > MERGE_LINES or line - run[0].line + _AROUND > MAX_PASSAGE_LINES):
            yield run
            run = []
        run += of_line
    if run:
        yield run


def _rarities(matches: FileMatches) -> Mapping[int, float]:
    counts = Counter(term for file in matches.files for term in {mark.term for mark in file.marks})
    searched = max(matches.searched, len(matches.files))
    return {term: math.log(1 + (searched - n + 0.5) / (n + 0.5)) for term, n in sorted(counts.items())}
