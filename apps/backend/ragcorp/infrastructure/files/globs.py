"""Patterns of gitignore, matched without backtracking: the cost of a match grows with name length times pattern length.

As in git, ``*`` and ``?`` match no slash, ``**`` as a whole name matches any number of folders, and braces match
themselves. A pattern with a slash that is not its last character matches the whole path, any other the last name.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

MAX_PATTERN = 1000
"""A longer line of an ignore file is ignored."""
MAX_RULES = 10_000
"""Lines of one ignore file; further lines are ignored."""
MAX_TREE_RULES = 20_000
"""Lines of all ignore files of a tree; a file that exceeds them is ignored."""
MAX_RULES_BYTES = 256 * 1024
"""Of one ignore file."""
MAX_SLOW_RULES = 500
"""Of them, with one last name, or one end of it, and without either to look them up by: the first ones count."""

_MAX_SIGNS = 20
_ANY_FOLDERS = "**"
_LITERAL = re.compile(r"[^*?\[\\]+")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_SPECIAL = frozenset(r"\*?[]{}!# ")

_NameTest = Callable[[str], bool]
_Rules = list[tuple[int, "Glob"]]


class Glob:
    """One pattern. ``negated``: it began with ``!``. Raises ValueError for an invalid one."""

    def __init__(self, line: str) -> None:
        pattern = _without_trailing_spaces(line)
        if not pattern or pattern.startswith("#") or len(pattern) > MAX_PATTERN:
            raise ValueError
        self.negated = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        self.folders_only = pattern.endswith("/")
        pattern = pattern.removesuffix("/")
        anchored = "/" in pattern
        names = pattern.removeprefix("/").split("/")
        if "" in names:
            raise ValueError
        self.last_name = names[-1]
        self._blocks = _blocks(names, anchored=anchored)

    def matches(self, names: Sequence[str], *, folder: bool) -> bool:
        """Return whether the pattern matches the path of these names itself, not a folder above it."""
        if self.folders_only and not folder:
            return False
        first, *others = self._blocks
        if not _matches_at(first, names, 0):
            return False
        if not others:
            return len(first) == len(names)
        *middle, last = others
        place = len(first)
        for block in middle:
            start = next(
                (at for at in range(place, len(names) - len(block) + 1) if _matches_at(block, names, at)), None
            )
            if start is None:
                return False
            place = start + len(block)
        end = len(names) - len(last)
        return end >= place and _matches_at(last, names, end)

    def covers(self, names: Sequence[str]) -> bool:
        """Return whether the pattern matches the file of these names, or a folder above it."""
        count = len(names)
        return any(self.matches(names[:length], folder=length < count) for length in range(count, 0, -1))


class IgnoreList:
    """The rules of one ignore file, the last first. Invalid lines are ignored."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._named: defaultdict[str, _Rules] = defaultdict(list)
        self._ending: defaultdict[str, _Rules] = defaultdict(list)
        self._slow: _Rules = []
        globs = [glob for line in islice(lines, MAX_RULES) if (glob := _parsed(line)) is not None]
        for number, glob in reversed(list(enumerate(globs))):
            name = glob.last_name
            if _LITERAL.fullmatch(name):
                self._named[name].append((number, glob))
            elif name.startswith("*") and _LITERAL.fullmatch(name, 1):
                self._ending[name[1:]].append((number, glob))
            else:
                self._slow.append((number, glob))
        for rules in (self._slow, *self._named.values(), *self._ending.values()):
            del rules[:-MAX_SLOW_RULES]
        self._lengths = sorted({len(end) for end in self._ending})

    def says(self, relative: str, *, folder: bool) -> bool | None:
        """Return whether the last matching rule excludes a path; None if no rule matches."""
        names = relative.split("/")
        last, verdict = -1, None
        for rules in chain((self._named.get(names[-1], []), self._slow), self._by_end(names[-1])):
            for number, glob in rules:
                if number < last:
                    break
                if glob.matches(names, folder=folder):
                    last, verdict = number, not glob.negated
                    break
        return verdict

    def _by_end(self, name: str) -> Iterator[_Rules]:
        for length in self._lengths:
            if length <= len(name) and (rules := self._ending.get(name[-length:])):
                yield rules


def read_rules(descriptor: int) -> list[str]:
    """Return the lines of an opened ignore file that may be rules, out of its first bytes. Raises OSError."""
    lines = os.read(descriptor, MAX_RULES_BYTES).decode("utf-8-sig", errors="replace").split("\n")
    return [line for line in lines if line.strip() and not line.startswith("#")]


def is_light(pattern: str) -> bool:
    """Return whether ripgrep may get a pattern: one with very many stars prevents it from reading any."""
    return sum(map(pattern.count, "*?[")) <= _MAX_SIGNS


def _parsed(line: str) -> Glob | None:
    try:
        return Glob(line)
    except ValueError:
        return None


def _without_trailing_spaces(line: str) -> str:
    line = line.removesuffix("\n").removesuffix("\r")
    stripped = line.rstrip(" ")
    escaped = (len(stripped) - len(stripped.rstrip("\\"))) % 2
    return stripped + " " if escaped and len(stripped) < len(line) else stripped


def _blocks(names: list[str], *, anchored: bool) -> list[list[_NameTest]]:
    """Return runs of names, separated by any number of folders; the first run begins the path."""
    blocks: list[list[_NameTest]] = [[]] if anchored else [[], []]
    for number, name in enumerate(names):
        if name != _ANY_FOLDERS or not anchored:
            blocks[-1].append(_name_test(name))
            continue
        if blocks[-1] or len(blocks) == 1:
            blocks.append([])
        if number == len(names) - 1:  # the folder's contents, not the folder
            blocks[-1].append(_name_test("*"))
    return blocks


def _matches_at(block: Sequence[_NameTest], names: Sequence[str], place: int) -> bool:
    there = names[place : place + len(block)]
    return len(there) == len(block) and all(test(name) for test, name in zip(block, there, strict=True))


def _name_test(pattern: str) -> _NameTest:
    pieces = _pieces(pattern)
    if len(pieces) == 1:
        [only] = pieces
        return lambda name: len(name) == only.length and only.at(name, 0)
    first, *middle, last = pieces

    def test(name: str) -> bool:
        if not first.at(name, 0):
            return False
        place = first.length
        for piece in middle:
            start = piece.find(name, place)
            if start < 0:
                return False
            place = start + piece.length
        end = len(name) - last.length
        return end >= place and last.at(name, end)

    return test


class _Piece:
    """The characters between two stars: a literal, one of several, or any."""

    def __init__(self) -> None:
        self.length = 0
        self._text = ""
        self._expression = ""
        self._regex: re.Pattern[str] | None = None

    def add(self, character: str) -> None:
        self.length += 1
        self._text += character
        self._expression += re.escape(character)

    def add_class(self, expression: str) -> None:
        self.length += 1
        self._expression += expression
        self._regex = re.compile("", re.DOTALL)

    def close(self) -> None:
        if self._regex is not None:
            self._regex = re.compile(self._expression, re.DOTALL)

    def at(self, name: str, place: int) -> bool:
        if self._regex is None:
            return name.startswith(self._text, place)
        return self._regex.match(name, place) is not None

    def find(self, name: str, place: int) -> int:
        if self._regex is None:
            return name.find(self._text, place)
        match = self._regex.search(name, place)
        return -1 if match is None else match.start()


def _pieces(pattern: str) -> list[_Piece]:
    pieces = [_Piece()]
    place = 0
    while place < len(pattern):
        character = pattern[place]
        place += 1
        if character == "*":
            pieces.append(_Piece())
        elif character == "?":
            pieces[-1].add_class(".")
        elif character == "[":
            expression, place = _bracket(pattern, place)
            pieces[-1].add_class(expression)
        elif character == "\\":
            if place == len(pattern):
                raise ValueError
            pieces[-1].add(pattern[place])
            place += 1
        else:
            pieces[-1].add(character)
    for piece in pieces:
        piece.close()
    return pieces


def _bracket(pattern: str, place: int) -> tuple[str, int]:
    """Return the expression for the bracket opened before ``place``, and the position after it."""
    negated = pattern[place : place + 1] in {"!", "^"}
    place += negated
    members: list[str] = []
    ranged = False
    while place < len(pattern) and (pattern[place] != "]" or not members):
        if pattern[place] == "-" and members and not ranged and pattern[place + 1 : place + 2] not in {"", "]"}:
            ranged = True
            place += 1
            continue
        if pattern[place] == "\\":
            place += 1
        member = pattern[place : place + 1]
        if not member:
            raise ValueError
        place += 1
        if not ranged:
            members.append(re.escape(member))
        elif (first := members.pop()) and first.removeprefix("\\") <= member:
            members.append(f"{first}-{re.escape(member)}")
        else:
            raise ValueError
        ranged = False
    if place >= len(pattern):
        raise ValueError
    return f"[{'^' if negated else ''}{''.join(members)}]", place + 1


def plain_braces(glob: str) -> str:
    """Return a pattern for ripgrep, to which braces are a choice; in .gitignore they are letters."""
    return _BRACES.sub(lambda match: match[0] if match[0].startswith("\\") else f"\\{match[0]}", glob)


def escaped(path: str) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in path)
