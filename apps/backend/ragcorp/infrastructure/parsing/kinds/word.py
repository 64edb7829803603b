"""Word documents."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from xml.etree.ElementTree import SubElement, tostring

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.decoding import text_of
from ragcorp.infrastructure.parsing.extraction import shielded
from ragcorp.infrastructure.parsing.kinds.charts import chart_rows, diagram_lines
from ragcorp.infrastructure.parsing.kinds.formulas import formula
from ragcorp.infrastructure.parsing.kinds.labels import PAGE_NUMBER, comment, note, note_in_text
from ragcorp.infrastructure.parsing.kinds.markdown import paragraph
from ragcorp.infrastructure.parsing.kinds.numbering import Level, NumberedList
from ragcorp.infrastructure.parsing.kinds.package import (
    ASIDE,
    Element,
    Package,
    attribute,
    child,
    children,
    local,
    paragraphs,
    within,
)
from ragcorp.infrastructure.parsing.kinds.reading import Reading, unread
from ragcorp.infrastructure.parsing.kinds.rtf import read_rtf
from ragcorp.infrastructure.parsing.kinds.web import html_to_markdown, read_html
from ragcorp.infrastructure.parsing.kinds.word_tables import simplify_tables
from ragcorp.infrastructure.parsing.limits import check_office_archive, corrupt

_STYLES = "\n".join(
    ["p[style-name='Title'] => h1:fresh", "p[style-name='Título'] => h1:fresh"]
    + [
        f"p[style-name='{name} {level}'] => h{level}:fresh"
        for name in ("Título", "Encabezado")
        for level in range(1, 7)
    ]
)
_READ_THROUGH = frozenset({"fldSimple", "oMathPara", "moveTo", "bdo", "dir", "ruby", "rubyBase", "rt"})
_MARK = "\ue000{}\ue001"
_MARKS = re.compile(r"^\ue000(\d+)\ue001$|\ue000(\d+)\ue001", re.MULTILINE)
_REFERENCES = ("/relationships}id", "/relationships}embed", "/relationships}link")
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes", "commentReference": "comments"}


def read_docx(file: SourceFile, reading: Reading) -> ParsedText:
    """Read through mammoth: kreuzberg 4.10 loses ``&``, ``<``, ``>`` and tabs of Word files, and their lists.

    Mammoth loses numbers, formulas, charts, comments, headers and footers, and puts notes at the end: they are written
    into the text before.
    """
    return _read(file, reading, with_chunks=True)


def _read(file: SourceFile, reading: Reading, *, with_chunks: bool) -> ParsedText:
    check_office_archive(file.content, "Word", reading.max_characters)
    with shielded("Word"):
        import mammoth

        package = Package(file.content)
        document = _Document(package)
        prepared = document.prepared()
        without_images = mammoth.images.img_element(lambda _: {"src": ""})
        converted = mammoth.convert_to_html(prepared, convert_image=without_images, style_map=_STYLES)
        source = str(converted.value)
        chunks = [_chunk(package, name, reading if with_chunks else None) for name in document.chunks]
    lost = [posixpath.basename(name) for name, chunk in zip(document.chunks, chunks, strict=True) if chunk is None]
    left_out = unread(UnreadKind.IMAGE, count=package.count(r"^word/media/"))
    left_out += unread(UnreadKind.EMBEDDED_OBJECT, *lost, count=len(lost) + package.embedded("word"))
    for chunk in chunks:
        left_out += chunk.unread if chunk is not None else ()

    def placed(found: re.Match[str]) -> str:
        place = int(found[1] or found[2])
        chunk = chunks[place] if place < len(chunks) else None
        text = chunk.text if chunk is not None else ""
        return text if found[1] else " ".join(text.split())

    return ParsedText(text=_MARKS.sub(placed, html_to_markdown(source)[0]), unread=left_out)


def _chunk(package: Package, name: str, reading: Reading | None) -> ParsedText | None:
    """Return a file that the document shows as a part of its text; None if it cannot be read."""
    media_type = media_types.known_type(name, None)
    file = SourceFile(content=package.bytes_of(name), media_type=media_type or "", filename=posixpath.basename(name))
    if reading is None or media_types.is_code(name):
        return None
    try:
        if media_type == media_types.PLAIN:
            return ParsedText(text=paragraph(text_of(file)))
        if media_type == media_types.HTML:
            return read_html(file, reading)
        if media_type == media_types.RTF:
            return read_rtf(file, reading)
        return _read(file, reading, with_chunks=False) if media_type == media_types.DOCX else None
    except UnreadableDocumentError:
        return None


class _Document:
    """The main part, and what it refers to."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._name = package.main() or "word/document.xml"
        root = package.xml(self._name)
        if root is None or child(root, "body") is None:
            raise corrupt("Word")
        self._root = root
        self._namespace = root.tag.rpartition("}")[0] + "}"
        self._relations = package.relations(self._name)
        self._relation_ids = package.relation_ids(self._name)
        self.chunks: list[str] = []
        self._notes = {
            (kind, attribute(note, "id")): note
            for kind in _NOTES.values()
            for part in package.related(self._name, kind)
            for note in part
        }

    def prepared(self) -> io.BytesIO:
        """Return a package for mammoth: without pictures, with the text that it does not look for."""
        numbering = next(self._package.related(self._name, "numbering"), None)
        styles = next(self._package.related(self._name, "styles"), None)
        for element in list(self._root.iter()):
            if local(element) == "AlternateContent":
                _choose(element)
            elif _is_unshown(element):
                for text in element.iter(f"{self._namespace}t"):
                    text.text = ""
        self._number(Numbers(numbering, styles))
        for container in list(self._root.iter()):
            self._add_notes(container)
        simplify_tables(self._root, self._paragraph)
        for element in list(self._root.iter()):
            self._rewrite(element)
        body = child(self._root, "body")
        if body is not None:
            body[:] = [*map(self._paragraph, self._margins()), *body]
        written = {self._name: self._root}
        for relation in self._relations.values():
            if relation.kind == "numbering" and numbering is not None:
                written[relation.target] = _bullets(numbering)
        notes = {relation.target for relation in self._relations.values() if relation.kind in _NOTES.values()}
        copy = io.BytesIO()
        with zipfile.ZipFile(copy, "w") as archive:
            for name in dict.fromkeys(self._package.names):
                if name in written:
                    archive.writestr(name, tostring(written[name]))
                elif name.endswith((".xml", ".rels")) and name not in notes:
                    archive.writestr(name, self._package.bytes_of(name))
        return copy

    def _number(self, numbers: "Numbers") -> None:
        for entry in list(self._root.iter(f"{self._namespace}p")):
            label = numbers.label(child(entry, "pPr"))
            if label:
                start = 1 if child(entry, "pPr") is not None else 0
                entry.insert(start, self._run(f"{label} "))

    def _rewrite(self, element: Element) -> None:
        """Turn what mammoth passes over into what it reads."""
        name = local(element)
        for key, value in element.items():
            if key.endswith(_REFERENCES) and value not in self._relation_ids:
                del element.attrib[key]
        if name in _READ_THROUGH:
            element.tag = f"{self._namespace}smartTag"
        elif name == "oMath":
            text = formula(element)
            element.clear()
            element.tag = f"{self._namespace}r"
            SubElement(element, f"{self._namespace}t").text = text
        elif name == "altChunk" and (relation := self._relations.get(attribute(element, "id"))) is not None:
            element.tag = f"{self._namespace}p"
            element.append(self._run(_MARK.format(len(self.chunks))))
            self.chunks.append(relation.target)
        elif name in _NOTES:
            element.tag = f"{self._namespace}t"
        elif name == "drawing":
            boxes = [entry for entry in within(element, skipped=frozenset()) if local(entry) == "txbxContent"]
            if boxes:
                element.tag = f"{self._namespace}pict"
                element[:] = boxes
        elif name == "ptab":
            element.tag = f"{self._namespace}tab"
        elif name == "r" and (choices := child(element, "fldChar", "ffData", "ddList")) is not None:
            options = [attribute(entry, "val") for entry in children(choices, "listEntry")]
            chosen = _number(child(choices, "result"), "val")
            SubElement(element, f"{self._namespace}t").text = options[chosen] if chosen < len(options) else ""

    def _add_notes(self, container: Element) -> None:
        """Put the notes, comments and charts of each paragraph behind it."""
        contents: list[Element] = []
        for entry in container:
            contents.append(entry)
            if local(entry) == "p" and entry.tag.startswith(self._namespace):
                contents.extend(self._paragraph(text) for text in self._notes_of(entry) if text)
        if len(contents) > len(container):
            container[:] = contents

    def _notes_of(self, paragraph: Element) -> Iterator[str]:
        for entry in within(paragraph, skipped=ASIDE):
            name = local(entry)
            if name in _NOTES:
                found = self._notes.get((_NOTES[name], attribute(entry, "id")))
                text = " ".join(paragraphs(found)) if found is not None else ""
                entry.tag = f"{self._namespace}t"
                if text and name == "commentReference":
                    yield comment(attribute(found, "author"), text)
                elif text:
                    entry.text = note_in_text(text)
                    yield note(text)
            elif name == "chart" and (part := self._related(entry, "id")) is not None:
                yield from (": ".join(filter(None, row)) for row in chart_rows(part))
            elif name == "relIds" and (part := self._related(entry, "dm")) is not None:
                yield from diagram_lines(part)

    def _related(self, element: Element, name: str) -> Element | None:
        relation = self._relations.get(attribute(element, name))
        return self._package.xml(relation.target) if relation is not None else None

    def _margins(self) -> list[str]:
        """Return the text of the headers and footers of pages, without page numbers."""
        lines = [
            line
            for kind in ("header", "footer")
            for part in self._package.related(self._name, kind)
            for line in paragraphs(part)
            if not PAGE_NUMBER.fullmatch(line)
        ]
        return list(dict.fromkeys(lines))

    def _paragraph(self, text: str) -> Element:
        paragraph = Element(f"{self._namespace}p")
        paragraph.append(self._run(text))
        return paragraph

    def _run(self, text: str) -> Element:
        run = Element(f"{self._namespace}r")
        SubElement(run, f"{self._namespace}t").text = text
        return run


def _is_unshown(element: Element) -> bool:
    """Return whether the text of a run is hidden, or the text of a control is what invites to fill it."""
    hidden = child(element, "rPr", "vanish") if local(element) == "r" else None
    if hidden is not None:
        return attribute(hidden, "val", "true") not in ("0", "false", "off")
    return local(element) == "sdt" and child(element, "sdtPr", "showingPlcHdr") is not None


def _choose(alternatives: Element) -> None:
    """Leave the one of alternative contents that mammoth is to read: the first with a text box, else the last."""
    choice = child(alternatives, "Choice")
    if choice is None or (child(alternatives, "Fallback") is not None and not _has_box(choice)):
        return
    choice.tag = choice.tag.replace("Choice", "Fallback")
    alternatives[:] = [choice]


def _has_box(element: Element) -> bool:
    return any(local(entry) == "txbxContent" for entry in element.iter())


def _bullets(numbering: Element) -> Element:
    """Remove the numbered levels, whose numbers are in the text by now."""
    for abstract in children(numbering, "abstractNum"):
        for level in list(children(abstract, "lvl")):
            if attribute(child(level, "numFmt"), "val") != "bullet":
                abstract.remove(level)
    return numbering


class Numbers:
    """The automatic numbers of paragraphs in document order."""

    def __init__(self, numbering: Element | None, styles: Element | None) -> None:
        self._styles = {attribute(style, "styleId"): style for style in children(styles, "style")}
        self._abstract = {attribute(entry, "abstractNumId"): entry for entry in children(numbering, "abstractNum")}
        self._instances = {attribute(entry, "numId"): entry for entry in children(numbering, "num")}
        self._lists: dict[str, NumberedList] = {}
        self._begun: set[str] = set()

    def label(self, properties: Element | None) -> str:
        style = attribute(child(properties, "pStyle"), "val")
        number, level = self._numbering_of(properties, style)
        instance = self._instances.get(number)
        if instance is None:
            return ""
        abstract = self._abstract_of(instance)
        numbered = self._lists.get(abstract)
        if numbered is None:
            numbered = self._lists[abstract] = NumberedList(levels=_levels(self._abstract.get(abstract)))
        if number not in self._begun:
            self._begun.add(number)
            for override in children(instance, "lvlOverride"):
                start = child(override, "startOverride")
                if start is not None:
                    numbered.reached[_number(override, "ilvl")] = _number(start, "val", 1) - 1
        return numbered.advance(self._level_of(abstract, style) if level is None else level)

    def _numbering_of(self, properties: Element | None, style: str) -> tuple[str, int | None]:
        """Return list and level of a paragraph, its own or those of its style and the styles below that."""
        for _ in range(20):
            own = child(properties, "numPr")
            if own is not None and child(own, "numId") is not None:
                level = child(own, "ilvl")
                return attribute(child(own, "numId"), "val"), None if level is None else _number(level, "val")
            found = self._styles.get(style)
            if found is None:
                break
            properties, style = child(found, "pPr"), attribute(child(found, "basedOn"), "val")
        return "", None

    def _abstract_of(self, instance: Element) -> str:
        abstract = attribute(child(instance, "abstractNumId"), "val")
        link = child(self._abstract.get(abstract), "numStyleLink")
        if link is not None:
            number, _ = self._numbering_of(None, attribute(link, "val"))
            abstract = attribute(child(self._instances.get(number), "abstractNumId"), "val", abstract)
        return abstract

    def _level_of(self, abstract: str, style: str) -> int:
        for level in children(self._abstract.get(abstract), "lvl"):
            if style and attribute(child(level, "pStyle"), "val") == style:
                return _number(level, "ilvl")
        return 0


def _levels(abstract: Element | None) -> dict[int, Level]:
    return {
        _number(level, "ilvl"): Level(
            format=attribute(child(level, "numFmt"), "val", "decimal"),
            template=attribute(child(level, "lvlText"), "val"),
            start=_number(child(level, "start"), "val", 1),
            decimal=child(level, "isLgl") is not None,
        )
        for level in children(abstract, "lvl")
    }


def _number(element: Element | None, name: str, default: int = 0) -> int:
    text = attribute(element, name)
    return int(text) if text.isdecimal() and len(text) < 7 else default
