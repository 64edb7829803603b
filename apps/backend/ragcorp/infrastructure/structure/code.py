"""Turns the definitions of a source file into entities: nesting, names, calls and own text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.text import entity_names
from ragcorp.domain.text.entity_names import is_empty
from ragcorp.infrastructure.structure.syntax import Call, Definition, Syntax

MAX_ENTITIES = 10_000
"""Per file; later definitions stay part of their container."""
MAX_CALLS = 200
MAX_NAMES = 1000
MAX_QUALIFIED = 300
MAX_TAILS = 6
"""Parts of the longest qualified name of a symbol."""
LEFT_OUT = "..."
FIELD, ATTRIBUTE, ENTRY = "field", "attribute", "entry"
"""A class member, one that a method sets, and an entry of a constant object."""
_MEMBERS = frozenset({FIELD, ATTRIBUTE, ENTRY})

symbol_name = lru_cache(maxsize=50_000)(entity_names.symbol_name)
"""Cached: the same few names are called everywhere."""

_KINDS = {
    **dict.fromkeys(
        ("class", "interface", "type", "struct", "enum", "module", "trait", "object", "namespace"), EntityKind.CLASS
    ),
    **dict.fromkeys(("function", "macro", "constructor"), EntityKind.FUNCTION),
    "method": EntityKind.METHOD,
}
_NO_QUALIFIERS = frozenset({"exports", "module", "prototype", "this", "window", "globalThis", "self"})
_THIS = frozenset({"self", "this", "cls"})
_TRAILING = re.compile(r"[ \t]*[;,]?[ \t]*")
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeEntity:
    """``qualified`` is "" for the file itself; ``container`` is an index into the entities.

    ``[start, end)`` is the whole span; ``lead`` are the characters of ``content`` before the definition itself, its
    comment, and ``body`` the place in it where the signature ends.
    """

    qualified: str
    kind: EntityKind
    name: str
    names: tuple[str, ...]
    container: int | None
    start: int
    end: int
    own: tuple[tuple[int, int], ...]
    content: str
    lead: int
    body: int
    calls: tuple[str, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class _Symbol:
    """A definition under construction, or the file. Without a kind it only qualifies its content (a constant object).

    ``own_start`` is its start without the comment; ``parent`` encloses it in the text; ``base`` is its query kind.
    """

    start: int
    end: int
    own_start: int
    body: int
    kind: EntityKind | None
    parts: tuple[str, ...] = ()
    base: str = ""
    is_entity: bool = True
    parent: _Symbol | None = None
    children: list[_Symbol] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    calls: dict[str, None] = field(default_factory=dict)


def code_entities(text: str, syntax: Syntax, *, path: str) -> list[CodeEntity]:
    """Return the entities in text order, the file first if it has own text. A function names definitions inside it."""
    file_name = path.replace("\\", "/").rpartition("/")[2]
    file = _Symbol(start=0, end=len(text), own_start=0, body=0, kind=EntityKind.FILE)
    symbols = _entities(file, _with_surroundings(text, syntax), syntax.calls, stem=file_name.partition(".")[0])
    if not symbols or any(text[start:end].strip() for start, end in _own(file)):
        symbols.insert(0, file)
    places = {id(symbol): place for place, symbol in enumerate(symbols)}
    classes: dict[tuple[str, ...], int] = {}
    for place, symbol in enumerate(symbols):
        if symbol.kind is EntityKind.CLASS:
            classes.setdefault(symbol.parts, place)
    entities = []
    for symbol in symbols:
        container = None
        if symbol is not file:
            container = classes.get(symbol.parts[:-1]) if symbol.parent is file else places[id(symbol.parent)]
        entities.append(
            CodeEntity(
                qualified=".".join(symbol.parts)[:MAX_QUALIFIED],
                kind=_kind(symbol),
                name=symbol.parts[-1] if symbol.parts else file_name,
                names=tuple(symbol.names),
                container=container,
                start=symbol.start,
                end=symbol.end,
                own=tuple(_own(symbol)),
                content=_file_content(text, symbol) if symbol is file else _content(text, symbol),
                lead=symbol.own_start - symbol.start,
                body=symbol.body - symbol.start,
                calls=tuple(symbol.calls),
            )
        )
    return entities


def _kind(symbol: _Symbol) -> EntityKind:
    if symbol.kind in (EntityKind.FUNCTION, EntityKind.METHOD):
        return EntityKind.METHOD if len(symbol.parts) > 1 else EntityKind.FUNCTION
    return symbol.kind or EntityKind.CLASS


def _with_surroundings(text: str, syntax: Syntax) -> list[_Symbol]:
    """Return the definitions with their wrappers (exports), leading comments, decorators and the rest of the lines."""
    by_end = {end: start for start, end in syntax.leading}
    by_start = dict(syntax.leading)
    wrappers = sorted(syntax.wrappers, reverse=True)
    around: list[tuple[int, int]] = []
    symbols = []
    for definition in syntax.definitions:
        if definition.kind in _MEMBERS:
            symbols.append(_member(definition))
            continue
        while wrappers and wrappers[-1][0] <= definition.start:
            around.append(wrappers.pop())
        start, end = definition.start, definition.end
        while around and around[-1][1] <= definition.end:
            wrapped = around.pop()
            start = wrapped[0] if wrapped[1] == definition.end else start
        base, _, only = definition.kind.partition(".")
        kind = _KINDS.get(base)
        is_entity = kind is not None and (only != "long" or "\n" in text[start:end])
        if base == "method" and not is_entity:
            base = ENTRY
        if is_entity:
            own_start = _line_start(text, _with_decorators(text, start, by_end))
            start = _with_leading(text, own_start, by_end)
            end = _with_trailing(text, end, by_start)
        else:
            own_start = start
        body = definition.body if definition.body is not None else text.find("\n", own_start)
        symbols.append(
            _Symbol(
                start=start, end=end, own_start=own_start, body=body if body >= 0 else end, kind=kind, base=base,
                parts=_parts(definition.name, definition.receiver, default=base not in ("scope", "path")),
                is_entity=is_entity or base in ("scope", "path"),
            )
        )  # fmt: skip
    return sorted(symbols, key=lambda symbol: (symbol.start, -symbol.end, symbol.parts == ("default",)))


def _member(member: Definition) -> _Symbol:
    return _Symbol(
        start=member.start, end=member.end, own_start=member.start, body=member.end, kind=None, base=member.kind,
        parts=_parts(member.name, member.receiver, default=True), is_entity=False,
    )  # fmt: skip


def _line_start(text: str, start: int) -> int:
    """Return the start of the line if only white space precedes ``start``, else ``start``."""
    place = _before_space(text, start)
    return place if place == 0 or text[place - 1] == "\n" else start


def _before_space(text: str, end: int) -> int:
    while end and text[end - 1] in " \t":
        end -= 1
    return end


def _with_decorators(text: str, start: int, by_end: dict[int, int]) -> int:
    """Return the start of the decorators on a definition's own line: ``@Input() name() {}``."""
    while (before := by_end.get(_before_space(text, start))) is not None and text[before] == "@":
        start = before
    return start


def _with_leading(text: str, start: int, by_end: dict[int, int]) -> int:
    column = start
    while column < len(text) and text[column] in " \t":
        column += 1
    column -= start
    while start and text[start - 1] == "\n":
        above = by_end.get(_before_space(text, start - 1))
        line = _line_start(text, above) if above is not None else start
        if above is None or above - line != column or (line and text[line - 1] != "\n"):
            break
        start = line
    return start


def _with_trailing(text: str, end: int, by_start: dict[int, int]) -> int:
    """Return the end of the line where nothing but a separator and a comment follows, else that of the separator."""
    while end and text[end - 1].isspace():
        end -= 1
    trailing = _TRAILING.match(text, end)
    after = trailing.end() if trailing else end
    line_end = by_start.get(after, after)
    if line_end == len(text) or text[line_end] == "\n":
        return line_end
    return max(_before_space(text, after), end)


def _entities(file: _Symbol, symbols: Sequence[_Symbol], calls: Sequence[Call], *, stem: str) -> list[_Symbol]:
    """Nest the symbols, assign names and calls to them, and return the entities."""
    entities: list[_Symbol] = []
    stack = [file]
    waiting = list(reversed(calls))
    for symbol in symbols:
        while waiting and waiting[-1].start < symbol.start:
            _add_call(stack, waiting.pop())
        while stack[-1].end <= symbol.start and stack[-1] is not file:
            stack.pop()
        holder = _holder(stack)
        if symbol.base in _MEMBERS:
            _add_field(stack, symbol)
            continue
        last = holder.children[-1].end if holder.children else holder.start
        symbol.parts = (*stack[-1].parts, *symbol.parts)
        inside = holder.kind in (EntityKind.FUNCTION, EntityKind.METHOD)
        if inside and symbol.base == "path":
            continue
        same = holder is not file and symbol.start <= holder.start and symbol.end >= holder.end
        full = len(entities) >= MAX_ENTITIES or symbol.end <= last
        if inside or same or not symbol.is_entity or (symbol.kind and full):
            _add_names(holder, symbol.parts)
            if same and symbol.parts[-1] == "default":
                _add_names(holder, (stem,))
            continue
        if symbol.kind:
            symbol.start, symbol.end = max(symbol.start, last), min(symbol.end, holder.end)
            symbol.own_start = max(symbol.start, symbol.own_start)
            symbol.parent = holder
            holder.children.append(symbol)
            _add_names(symbol, symbol.parts)
            if symbol.parts == ("default",):
                _add_names(symbol, (stem,))
            entities.append(symbol)
        elif symbol.base == "scope":
            _add_names(holder, symbol.parts)
        stack.append(symbol)
    while waiting:
        _add_call(stack, waiting.pop())
    return entities


def _holder(stack: Sequence[_Symbol]) -> _Symbol:
    return next(symbol for symbol in reversed(stack) if symbol.kind)


def _add_field(stack: Sequence[_Symbol], field_: _Symbol) -> None:
    """Add the qualified name of a field to its class or constant object; an attribute (``self.name``) to the class."""
    owner = stack[-1]
    if field_.base == ATTRIBUTE:
        owner = next((symbol for symbol in reversed(stack) if symbol.kind is EntityKind.CLASS), stack[0])
    holder = _holder(stack) if owner.kind is None else owner
    fits = (owner.kind is None) if field_.base == ENTRY else (owner.kind is EntityKind.CLASS)
    if fits and owner.parts and holder.kind in (EntityKind.CLASS, EntityKind.FILE):
        _add_names(holder, (*owner.parts, *field_.parts), fewest=2)


def _add_names(symbol: _Symbol, parts: tuple[str, ...], *, fewest: int = 1) -> None:
    """Add the tails of a qualified name with at least ``fewest`` parts, the shortest first."""
    if len(symbol.names) >= MAX_NAMES:
        return
    for first in reversed(range(max(0, len(parts) - MAX_TAILS), len(parts) + 1 - fewest)):
        name = symbol_name(".".join(parts[first:]))
        if not is_empty(name) and len(symbol.names) < MAX_NAMES:
            symbol.names[name] = None


def _add_call(stack: list[_Symbol], call: Call) -> None:
    while stack[-1].end <= call.start and len(stack) > 1:
        stack.pop()
    holder = _holder(stack)
    receiver = call.receiver
    if receiver in _THIS:
        of_class = holder.parts if holder.kind is EntityKind.CLASS else holder.parts[:-1]
        receiver = of_class[-1] if of_class else ""
    for name in (symbol_name(call.name), symbol_name(f"{receiver}.{call.name}")):
        if not is_empty(name) and len(holder.calls) < MAX_CALLS:
            holder.calls[name] = None


def _parts(name: str, receiver: str, *, default: bool) -> tuple[str, ...]:
    """Return the parts of a name as it is written: ``exports.Session.start``, ``"a-b"``, ``[Symbol.iterator]``.

    ``module.exports`` alone is the ``default``, or no name at all.
    """
    folded = " ".join(name.split())[:MAX_QUALIFIED]
    if folded[:1] in ("[", '"', "'", "`"):
        parts = [folded.strip("[]\"'`") or folded]
    else:
        parts = [part for part in folded.split(".") if part and part not in _NO_QUALIFIERS]
    return (*([receiver] if receiver else []), *(parts or ["default"] * default))


def _own(symbol: _Symbol) -> Iterator[tuple[int, int]]:
    start = symbol.start
    for child in symbol.children:
        if child.start > start:
            yield start, child.start
        start = child.end
    if symbol.end > start:
        yield start, symbol.end


def _file_content(text: str, file: _Symbol) -> str:
    pieces = (_BLANK_LINES.sub("", text[start:end]).rstrip() for start, end in _own(file))
    return "\n\n".join(piece for piece in pieces if piece.strip())


def _content(text: str, symbol: _Symbol) -> str:
    """Return the own text of a symbol, with one ``...`` for each run of omitted children."""
    parts: list[str] = []
    start, marked = symbol.start, False
    for child in symbol.children:
        between = text[start : child.start]
        if not marked or between.strip():
            parts += [between, _indent(text, child.start), LEFT_OUT]
        start, marked = child.end, True
    parts.append(text[start : symbol.end])
    return "".join(parts).rstrip()


def _indent(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end] in " \t":
        end += 1
    return text[start:end] if start == 0 or text[start - 1] == "\n" else ""
