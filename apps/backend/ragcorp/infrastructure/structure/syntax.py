"""Finds definitions, calls and leading comments in source code, by character offset."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from ragcorp.infrastructure.structure.languages import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_BYTES = 2_000_000
MAX_NAME_BYTES = 400

_PARALLEL_MATCHES = 1024
_MAX_DEPTH = 1000
"""Of a definition in the tree: deeper ones are generated, and 16 bits of depth are all that a query counts."""
_MAX_SQUARES = 100_000_000
"""Sum of the squared numbers of children of the nodes that are errors: a query's time grows with it."""
_MAX_MISSING = 20
"""Closing braces that are added to a definition that lacks them."""
_MEMBERS = frozenset({"field", "attribute", "entry", "path"})
_NO_SYMBOLS = _MEMBERS | {"constant", "scope"}
_READ = 65_536
_STEPS = 64
"""Of the parser between two looks at the clock."""

_STARTS = re.compile(
    rb"^(?:@|(?:export|default|declare|abstract|async|public|private|protected|static|final|pub|class|interface|enum"
    rb"|struct|trait|impl|type|def|func|function|fn|const|let|var)[ \t(*])",
    re.MULTILINE,
)
"""A line that may begin a definition at the outermost level, whatever the language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """``kind`` is what follows ``definition.`` in a query, ``body`` where the body begins."""

    start: int
    end: int
    kind: str
    name: str
    receiver: str
    body: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    start: int
    name: str
    receiver: str


@dataclass(slots=True, kw_only=True)
class Syntax:
    """``leading`` are comments and decorators, ``wrappers`` what may enclose a definition: an export. In text order."""

    definitions: list[Definition] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    leading: list[tuple[int, int]] = field(default_factory=list)
    wrappers: list[tuple[int, int]] = field(default_factory=list)


def read_syntax(text: str, grammar: Grammar, *, seconds: float) -> Syntax:
    """Read source code, broken or not; nothing if it is too long, or takes longer to parse than ``seconds``.

    Where the code does not parse as a whole, each of its outermost definitions is parsed alone: an unclosed brace
    swallows what follows it. The result with more definitions is taken.
    """
    source = text.encode("utf-8", "replace")
    if len(source) > MAX_BYTES:
        return Syntax()
    deadline = time.thread_time() + seconds
    tree = _parsed(source, grammar, deadline)
    if tree is None:
        return Syntax()
    matches = _Matches(source)
    matches.read(tree, grammar, 0, len(source))
    if tree.root_node.has_error:
        parts = _Matches(source)
        for start, end in _outermost(source):
            part = _parsed(source[start:end], grammar, deadline)
            missing = source.count(b"{", start, end) - source.count(b"}", start, end)
            if part and part.root_node.has_error and 0 < missing <= _MAX_MISSING:
                part = _parsed(source[start:end] + b"}" * missing, grammar, deadline)
            if part is None or time.thread_time() > deadline:
                break
            parts.read(part, grammar, start, end)
        if parts.outermost() > matches.outermost():
            matches = parts
    return matches.syntax(text)


def _parsed(source: bytes, grammar: Grammar, deadline: float) -> Tree | None:
    from tree_sitter import Parser  # of an extra

    steps = count()
    try:
        return Parser(grammar.language).parse(
            lambda offset, _: source[offset : offset + _READ],
            progress_callback=lambda _offset, _error: not next(steps) % _STEPS and time.thread_time() > deadline,
        )
    except ValueError:
        return None


def _outermost(source: bytes) -> Iterator[tuple[int, int]]:
    start, decorated = 0, False
    for match in _STARTS.finditer(source):
        if not decorated and match.start() > start:
            yield start, match.start()
            start = match.start()
        decorated = match.group() == b"@"
    yield start, len(source)


class _Matches:
    """Matches of queries, by byte offset."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._definitions: dict[int, Definition] = {}
        self._calls: list[Call] = []
        self._leading: set[tuple[int, int]] = set()
        self._wrappers: set[tuple[int, int]] = set()

    def outermost(self) -> int:
        """Return the number of definitions that are not inside another."""
        outermost, free_from = 0, 0
        for definition in sorted(self._definitions.values(), key=_position):
            if definition.kind not in _MEMBERS and definition.start >= free_from:
                outermost, free_from = outermost + 1, definition.end
        return outermost

    def read(self, tree: Tree, grammar: Grammar, base: int, limit: int) -> None:
        """Add the matches of a tree over the source from ``base`` to ``limit``."""
        from tree_sitter import QueryCursor  # of an extra

        root = tree.root_node
        if root.has_error and _is_wide(tree):
            return
        cursor = QueryCursor(grammar.query, match_limit=_PARALLEL_MATCHES)
        cursor.set_max_start_depth(_MAX_DEPTH)
        for _, captures in cursor.matches(root):
            self._add(captures, base, limit)

    def _add(self, captures: dict[str, list[Node]], base: int, limit: int) -> None:
        name_node = captures["name"][0] if "name" in captures else None
        receiver = self._text(captures["receiver"][0], base) if "receiver" in captures else ""
        for capture, nodes in captures.items():
            start, end = nodes[0].start_byte + base, min(nodes[0].end_byte + base, limit)
            if capture == "wrapper":
                self._wrappers.add((start, end))
            elif capture == "leading":
                while self._source[end - 1 : end] in (b"\n", b" ", b"\t"):
                    end -= 1
                self._leading.add((start, end))
            elif capture in ("reference.call", "reference.class") and name_node:
                name = self._text(name_node, base)
                self._calls.append(Call(start=name_node.start_byte + base, name=name, receiver=receiver))
            elif capture.startswith("definition."):
                definition = Definition(
                    start=start,
                    end=end,
                    kind=capture.removeprefix("definition."),
                    name=self._text(name_node, base) if name_node else "default",
                    receiver=receiver,
                    body=captures["body"][0].start_byte + base if "body" in captures else None,
                )
                # of several definitions of one name: that of a symbol, the widest, the one with a body
                place = name_node.start_byte + base if name_node else start
                other = self._definitions.get(place)
                if other is None or _rank(definition) > _rank(other):
                    self._definitions[place] = definition

    def _text(self, node: Node, base: int) -> str:
        start = node.start_byte + base
        text = self._source[start : min(node.end_byte + base, start + MAX_NAME_BYTES)]
        return text.decode("utf-8", "ignore")

    def syntax(self, text: str) -> Syntax:
        definitions = sorted(self._definitions.values(), key=_position)
        calls = sorted(self._calls, key=lambda call: (call.start, call.name, call.receiver))
        spans = [*self._leading, *self._wrappers, *((definition.start, definition.end) for definition in definitions)]
        offsets = {offset for span in spans for offset in span} | {call.start for call in calls}
        offsets |= {definition.body for definition in definitions if definition.body is not None}
        at = _characters(text, self._source, offsets)
        return Syntax(
            definitions=[
                replace(
                    definition,
                    start=at[definition.start],
                    end=at[definition.end],
                    body=None if definition.body is None else at[definition.body],
                )
                for definition in definitions
            ],
            calls=[replace(call, start=at[call.start]) for call in calls],
            leading=sorted((at[start], at[end]) for start, end in self._leading),
            wrappers=sorted((at[start], at[end]) for start, end in self._wrappers),
        )


def _position(definition: Definition) -> tuple[int, int]:
    return definition.start, -definition.end


def _rank(definition: Definition) -> tuple[bool, int, bool, bool]:
    kind = definition.kind.partition(".")[0]
    width = definition.end - definition.start
    return kind not in _NO_SYMBOLS, width, definition.body is not None, kind not in ("constant", "entry")


def _is_wide(tree: Tree) -> bool:
    """Return whether error nodes have too many children; visits only nodes that contain errors."""
    cursor = tree.walk()
    squares = 0
    while True:
        node = cursor.node
        if node is not None and node.is_error:
            squares += node.child_count**2
            if squares > _MAX_SQUARES:
                return True
        if node is not None and node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False


def _characters(text: str, source: bytes, offsets: Iterable[int]) -> dict[int, int]:
    """Return the character offset of each byte offset."""
    if text.isascii():
        return {offset: offset for offset in offsets}
    at: dict[int, int] = {}
    last = characters = 0
    for offset in sorted(offsets):
        characters += len(source[last:offset].decode("utf-8", "ignore"))
        at[offset] = characters
        last = offset
    return at
