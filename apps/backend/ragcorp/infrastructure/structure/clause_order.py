"""Which of the numbered lines of a text are parts of it: those that come in order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragcorp.infrastructure.structure.beginnings import CLAUSE, Beginning

MAX_OPEN_RUNS = 8
MAX_SKIP = 3
"""How far a number may lie behind the one before: a line may be lost to a page break."""
FEWEST_FIGURES = 3
FEWEST_WORDS = 2
UNLIKE_NONE = 2
"""How like a run is to a number of a depth that it has not yet: of three signs."""

_PART = re.compile(r"[.-]")


@dataclass(slots=True)
class _Run:
    """``looks`` are those of the last number of each depth; ``flat``: only single figures, as in a list."""

    last: tuple[int, ...]
    members: list[int] = field(default_factory=list)
    looks: dict[int, tuple[bool, bool, bool]] = field(default_factory=dict)
    flat: bool = True


def in_order(numbered: Sequence[Beginning], *, contract: bool) -> frozenset[int]:
    """Return the positions that count: sure ones, and those in a run of numbers of which each follows the one before.

    ``5``, ``4.3``, ``4.4`` and ``4.2.1`` follow ``4.2``. A run begins with ones (``1``, ``1.1``) or with a sure number.
    Of several runs that a number follows it belongs to the one whose numbers look like it, else to the latest: a
    chapter does not go on counting the list above it. Two ordinals make a run, three figures, two where the first is a
    sure one; a single figure counts where one of its run has figures of its own (``4.1``) or, in a contract, where it
    looks like a heading.
    """
    numbers = [_parts(begins.number or "") for begins in numbered]
    runs: list[_Run] = []
    open_runs: list[_Run] = []
    for position, (begins, parts) in enumerate(zip(numbered, numbers, strict=True)):
        near = (run for run in reversed(open_runs) if 0 <= parts[0] - run.last[0] <= MAX_SKIP)
        fits = [run for run in near if _follows(run.last, parts, again=" " in (begins.number or ""))]
        run = max(fits, key=lambda run: _likeness(run, begins, len(parts)), default=None)
        if run:
            open_runs.remove(run)
        elif begins.sure or all(part == 1 for part in parts):
            run = _Run(parts)
            runs.append(run)
        else:
            continue
        run.last = parts
        run.members.append(position)
        run.looks[len(parts)] = begins.look
        run.flat &= len(parts) == 1 and not begins.sure
        open_runs.append(run)
        if len(open_runs) > MAX_OPEN_RUNS:
            open_runs.remove(next((run for run in open_runs if run.flat), open_runs[0]))
    return frozenset(position for run in runs for position in _counting(run, numbered, numbers, contract=contract))


def _likeness(run: _Run, begins: Beginning, depth: int) -> int:
    look = run.looks.get(depth)
    if look is None:
        return UNLIKE_NONE
    return sum(a == b for a, b in zip(look, begins.look, strict=True))


def _counting(
    run: _Run, numbered: Sequence[Beginning], numbers: Sequence[tuple[int, ...]], *, contract: bool
) -> list[int]:
    members = run.members
    parents = {numbers[position][:-1] for position in members}
    words = [position for position in members if numbered[position].rank == CLAUSE]
    titled = [position for position in members if contract and numbered[position].titled]
    # a heading is sure: the paragraphs below it are not numbered like it
    chapters = any(numbers[position] in parents and not numbered[position].sure for position in members)
    first_sure = numbered[members[0]].sure
    enough = len(members) >= FEWEST_FIGURES or (len(members) == FEWEST_WORDS and first_sure)

    def counts(position: int) -> bool:
        begins = numbered[position]
        if begins.sure:
            return True
        if begins.rank == CLAUSE:
            return len(words) >= FEWEST_WORDS or (begins.number or "").startswith("unica")
        if len(numbers[position]) > 1:
            return enough
        if numbers[position] in parents or chapters:
            return enough
        return enough and contract and begins.titled and len(titled) >= FEWEST_WORDS

    return [position for position in members if counts(position)]


def _follows(last: tuple[int, ...], parts: tuple[int, ...], *, again: bool) -> bool:
    if parts == last:
        return again
    same = next((at for at, (a, b) in enumerate(zip(last, parts, strict=False)) if a != b), min(len(last), len(parts)))
    if same == len(parts):
        return False
    if same == len(last):
        return all(part == 1 for part in parts[same:])
    step = parts[same] - last[same]
    furthest = MAX_SKIP if same == len(last) - 1 else 1
    return 1 <= step <= furthest and all(part == 1 for part in parts[same + 1 :])


def _parts(number: str) -> tuple[int, ...]:
    figures = number.split(" ", 1)[0]
    if figures == "unica":
        return (1,)
    return tuple(int(part) if part.isdecimal() else ord(part[0]) - ord("a") + 1 for part in _PART.split(figures))
