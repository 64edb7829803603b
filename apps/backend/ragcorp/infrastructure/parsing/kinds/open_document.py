"""OpenDocument: texts, spreadsheets and presentations of LibreOffice."""

import posixpath
from collections.abc import Iterable, Iterator

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing.decoding import clean
from ragcorp.infrastructure.parsing.extraction import shielded
from ragcorp.infrastructure.parsing.kinds.labels import comment, note, note_in_text
from ragcorp.infrastructure.parsing.kinds.markdown import paged, paragraph, table
from ragcorp.infrastructure.parsing.kinds.numbering import Level, NumberedList
from ragcorp.infrastructure.parsing.kinds.package import Element, Package, attribute, child, children, local, within
from ragcorp.infrastructure.parsing.kinds.pdf import real_title
from ragcorp.infrastructure.parsing.kinds.reading import Reading, unread
from ragcorp.infrastructure.parsing.kinds.sheets import sheet_section
from ragcorp.infrastructure.parsing.limits import check_archive, corrupt, encrypted

_NO_TEXT = frozenset({"tracked-changes", "note", "annotation", "forms", "frame", "custom-shape", "sequence-decls"})
_ASIDE = frozenset({"tracked-changes", "forms", "notes", "note", "annotation"})
_SPACES = {"tab": " ", "line-break": " ", "s": " "}
_MOST_REPEATS = 100
_MOST_REPEATED = 1_000_000
"""Characters of a file that rows written once for several may add."""
_MOST_LEVELS = 60


def read_odf(file: SourceFile, reading: Reading) -> ParsedText:
    """Return headings, paragraphs with their notes, numbered lists and tables; a page for each slide."""
    kind = "OpenDocument"
    check_archive(file.content, kind, reading.max_characters)
    with shielded(kind):
        package = Package(file.content)
        if b"encryption-data" in (
            package.bytes_of("META-INF/manifest.xml") if "META-INF/manifest.xml" in package.names else b""
        ):
            raise encrypted(kind)
        root = package.xml("content.xml")
        content = next(iter(child(root, "body") or ()), None)
        if root is None or content is None:
            raise corrupt(kind)
        document = _Document(package, root)
        name = local(content)
        if name == "presentation":
            parsed = paged(clean("\n\n".join(document.slide(page))) for page in children(content, "page"))
        elif name == "spreadsheet":
            parsed = ParsedText(text="\n\n".join(document.sheets(content)))
        else:
            blocks = [*document.margins(), *document.blocks(content)]
            parsed = ParsedText(text="\n\n".join(filter(None, blocks)))
        title = child(package.xml("meta.xml"), "meta", "title")
    left_out = unread(UnreadKind.HIDDEN_SHEET, *document.hidden)
    left_out += unread(UnreadKind.IMAGE, count=package.count(r"^Pictures/"))
    return ParsedText(
        text=parsed.text,
        title=real_title(title.text if title is not None else None),
        page_starts=parsed.page_starts,
        unread=left_out,
    )


class _Document:
    def __init__(self, package: Package, root: Element) -> None:
        self._package = package
        self._master = package.xml("styles.xml")
        self.hidden: list[str] = []
        self._invisible: set[str] = set()
        self._levels: dict[str, dict[int, Level]] = {}
        self._lists: dict[str, NumberedList] = {}
        self._repeatable = _MOST_REPEATED
        self._open_cells = 0
        for part in (self._master, root):
            for style in part.iter() if part is not None else ():
                if local(style) in ("list-style", "outline-style"):
                    self._levels[attribute(style, "name") or "Outline"] = _levels(style)
                elif local(style) == "style" and attribute(child(style, "table-properties"), "display") == "false":
                    self._invisible.add(attribute(style, "name"))

    def margins(self) -> list[str]:
        """Return the text of the headers and footers of pages."""
        found = [
            _text(line)
            for part in (self._master.iter() if self._master is not None else ())
            if local(part) in ("header", "footer")
            for line in children(part, "p")
            if not any(local(entry) == "page-number" for entry in line.iter())
        ]
        return list(dict.fromkeys(filter(None, map(paragraph, found))))

    def blocks(self, entries: Iterable[Element], depth: int = 0) -> Iterator[str]:
        """Yield the paragraphs, lists and tables among the elements in order."""
        if depth > _MOST_LEVELS:
            yield paragraph(" ".join(" ".join("".join(entry.itertext()) for entry in entries).split()))
            return
        for entry in entries:
            name = local(entry)
            if name == "h":
                level = _number(entry, "outline-level", 1)
                label = self._label("Outline", level - 1)
                yield f"{'#' * min(level, 6)} {label}{_text(entry)}"
                yield from self._beside(entry, depth)
            elif name == "p":
                yield paragraph(_text(entry))
                yield from self._beside(entry, depth)
            elif name == "list":
                yield from self._list(entry, attribute(entry, "style-name"), depth)
            elif name == "table":
                rows = self._rows(entry, depth)
                yield _in_line(rows) if self._open_cells else table(rows)
            elif name == "object":
                yield from self._object(entry)
            elif name not in _ASIDE and attribute(entry, "display") != "none":
                yield from self.blocks(entry, depth + 1)

    def _list(self, element: Element, style: str, depth: int, level: int = 0) -> Iterator[str]:
        numbered = bool(self._levels.get(style, {}).get(level))
        if (
            level == 0
            and attribute(element, "continue-numbering") != "true"
            and not attribute(element, "continue-list")
        ):
            self._lists.pop(style, None)
        items: list[str] = []
        for item in element:
            inner: list[str] = []
            start = _number(item, "start-value", 0)
            label = self._label(style, level, start) if numbered and local(item) == "list-item" else "- "
            for entry in item:
                if local(entry) == "list":
                    inner += self._list(entry, attribute(entry, "style-name") or style, depth + 1, level + 1)
                else:
                    inner += filter(None, self.blocks([entry], depth + 1))
            if inner:
                items.append("\n\n".join([("" if inner[0].startswith("#") else label or "- ") + inner[0], *inner[1:]]))
        yield from items

    def _label(self, style: str, level: int, start: int = 0) -> str:
        levels = self._levels.get(style)
        if not levels:
            return ""
        numbers = self._lists.setdefault(style, NumberedList(levels=levels))
        if start:
            numbers.reached[level] = start - 1
        label = numbers.advance(level)
        return f"{label} " if label else ""

    def _beside(self, element: Element, depth: int) -> Iterator[str]:
        """Yield the notes, comments and frames that hang on a paragraph."""
        for entry in element.iter():
            name = local(entry)
            if name == "note-body":
                yield paragraph(note(_note(entry)))
            elif name == "annotation":
                yield paragraph(_comment(entry))
            elif name in ("frame", "custom-shape"):
                yield from self.blocks(entry, depth + 1)

    def _object(self, entry: Element) -> Iterator[str]:
        """Yield a formula, or the titles and the table of a chart; a chart in a sheet shows what the sheet has."""
        name = posixpath.normpath(attribute(entry, "href"))
        root = self._package.xml(f"{name}/content.xml")
        if root is not None and local(root) == "math":
            signs = within(root, skipped=frozenset({"annotation"}))
            yield paragraph("".join((sign.text or "").strip() for sign in signs))
        for part in root.iter() if root is not None else ():
            if local(part) == "title":
                yield paragraph(" ".join(map(_text, children(part, "p"))))
            elif local(part) == "table" and not self._open_cells:
                yield table(self._rows(part))

    def sheets(self, content: Element) -> Iterator[str]:
        for sheet in children(content, "table"):
            name = attribute(sheet, "name")
            if attribute(sheet, "style-name") in self._invisible or attribute(sheet, "display") == "false":
                self.hidden.append(name)
            else:
                yield sheet_section(name, self._rows(sheet))
                for shapes in children(sheet, "shapes"):
                    yield self._inside(shapes)

    def _rows(self, element: Element, depth: int = 0) -> Iterator[list[str]]:
        for entry in element:
            if local(entry) == "table-row":
                cells = list(self._cells(entry, depth))
                yield cells
                length = sum(map(len, cells))
                repeats = (
                    min(_number(entry, "number-rows-repeated", 1) - 1, self._repeatable // length) if length else 0
                )
                self._repeatable -= repeats * length
                yield from [cells] * repeats
            elif local(entry) in ("table-rows", "table-header-rows", "table-row-group"):
                yield from self._rows(entry, depth)

    def _cells(self, row: Element, depth: int) -> Iterator[str]:
        for cell in row:
            if local(cell) in ("table-cell", "covered-table-cell"):
                text = self._inside(cell, depth) if local(cell) == "table-cell" else ""
                for annotation in children(cell, "annotation"):
                    text += f" ({_comment(annotation)})"
                yield from [text.strip()] * min(_number(cell, "number-columns-repeated", 1), _MOST_REPEATS)

    def _inside(self, element: Element, depth: int = 0) -> str:
        """Return what a cell holds, or lies upon a sheet, on one line."""
        self._open_cells += 1
        text = " ".join(filter(None, self.blocks(element, depth + 1)))
        self._open_cells -= 1
        return text

    def slide(self, page: Element) -> Iterator[str]:
        """Yield the title of a slide, its text and its notes."""
        frames = list(page)
        titles = [frame for frame in frames if attribute(frame, "class") == "title"]
        for frame in titles:
            yield "## " + " ".join(filter(None, self.blocks(frame)))
        yield from self.blocks(frame for frame in frames if frame not in titles and local(frame) != "notes")
        yield from (paragraph(_comment(entry)) for entry in children(page, "annotation"))
        for notes in children(page, "notes"):
            yield from self.blocks(notes)


def _levels(style: Element) -> dict[int, Level]:
    """Return the numbered levels of a list."""
    levels: dict[int, Level] = {}
    for entry in style:
        form, level = attribute(entry, "num-format"), _number(entry, "level", 1)
        if local(entry).endswith(("level-style-number", "outline-level-style")) and form:
            first = max(1, level - _number(entry, "display-levels", 1) + 1)
            template = ".".join(f"%{number}" for number in range(first, min(level, 10) + 1))
            levels[level - 1] = Level(
                format=form,
                template=attribute(entry, "num-prefix") + template + attribute(entry, "num-suffix"),
                start=_number(entry, "start-value", 1),
            )
    return levels


def _text(element: Element) -> str:
    """Return the text of a paragraph with its short notes."""
    pieces: list[str] = []
    waiting: list[Element | str] = [element]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, str):
            pieces.append(entry)
        elif local(entry) == "note":
            pieces.append(note_in_text(_note(child(entry, "note-body"))))
        elif local(entry) not in _NO_TEXT:
            pieces.append(_SPACES.get(local(entry), "") + (entry.text or ""))
            for inner in reversed(entry):
                waiting += [inner.tail or "", inner]
    return " ".join("".join(pieces).split())


def _note(body: Element | None) -> str:
    return " ".join(_text(line) for line in children(body, "p"))


def _comment(annotation: Element) -> str:
    author = next((part.text or "" for part in children(annotation, "creator")), "")
    return comment(author, " ".join(map(_text, children(annotation, "p"))))


def _in_line(rows: Iterable[list[str]]) -> str:
    return "; ".join(", ".join(filter(None, row)) for row in rows)


def _number(element: Element, name: str, default: int) -> int:
    text = attribute(element, name)
    return int(text) if text.isdecimal() and len(text) < 8 else default
