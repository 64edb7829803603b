"""Removes layout tables of HTML: those of one column, and those that contain tables or headings."""

import re
from dataclasses import dataclass, field

_TAG = re.compile(
    r"<(/?)(table|tr|td|th|tbody|thead|tfoot|caption|h[12])\b(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE
)
_PLACED = frozenset({"table", "td", "th", "caption"})


@dataclass(slots=True, kw_only=True)
class _Table:
    tags: list[re.Match[str]] = field(default_factory=list)
    is_layout: bool = False
    cells: int = 0
    most_cells: int = 0


def unwrap_layouts(source: str) -> str:
    """Return the source with the tags of such tables replaced by ``div``. Comments and scripts are removed before."""
    open_tables: list[_Table] = []
    unwrapped: dict[int, re.Match[str]] = {}

    def end(table: _Table) -> None:
        if table.is_layout or max(table.cells, table.most_cells) == 1:
            unwrapped.update((tag.start(), tag) for tag in table.tags)

    for tag in _TAG.finditer(source):
        closes, name = bool(tag.group(1)), tag.group(2).lower()
        if name == "table" and not closes:
            if open_tables:
                open_tables[-1].is_layout = True
            open_tables.append(_Table())
        if not open_tables:
            continue
        table = open_tables[-1]
        if name in ("h1", "h2"):
            table.is_layout = True
            continue
        table.tags.append(tag)
        if name == "tr":
            table.most_cells = max(table.most_cells, table.cells)
            table.cells = 0
        elif name in ("td", "th") and not closes:
            table.cells += 1
        elif name == "table" and closes:
            end(open_tables.pop())
    for table in open_tables:
        end(table)
    pieces: list[str] = []
    position = 0
    for start, tag in sorted(unwrapped.items()):
        pieces.append(source[position:start])
        pieces.append(f"<{tag.group(1)}div>" if tag.group(2).lower() in _PLACED else "")
        position = tag.end()
    return "".join([*pieces, source[position:]])
