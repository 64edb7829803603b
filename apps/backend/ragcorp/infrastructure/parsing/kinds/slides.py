"""PowerPoint presentations."""

from collections.abc import Iterator

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing.decoding import clean
from ragcorp.infrastructure.parsing.extraction import shielded
from ragcorp.infrastructure.parsing.kinds.charts import chart_rows, diagram_lines
from ragcorp.infrastructure.parsing.kinds.labels import comment
from ragcorp.infrastructure.parsing.kinds.markdown import paged, paragraph, table
from ragcorp.infrastructure.parsing.kinds.package import (
    Element,
    Package,
    attribute,
    child,
    children,
    local,
    paragraphs,
    within,
)
from ragcorp.infrastructure.parsing.kinds.pdf import real_title
from ragcorp.infrastructure.parsing.kinds.reading import Reading, unread
from ragcorp.infrastructure.parsing.limits import check_office_archive, corrupt

_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_TITLES = frozenset({"title", "ctrTitle"})


def read_pptx(file: SourceFile, reading: Reading) -> ParsedText:
    """Return a page for each slide: title, text in its order, tables, data of charts, comments and notes."""
    check_office_archive(file.content, "PowerPoint", reading.max_characters)
    with shielded("PowerPoint"):
        package = Package(file.content)
        name = package.main() or ""
        root = package.xml(name)
        if root is None:
            raise corrupt("PowerPoint")
        relations = package.relations(name)
        authors = {
            attribute(author, "id"): attribute(author, "name")
            for kind in ("commentAuthors", "authors")
            for part in package.related(name, kind)
            for author in part
        }
        slides = [
            _slide(package, relations[key].target, authors)
            for entry in children(child(root, "sldIdLst"), "sldId")
            if (key := _relation_id(entry)) in relations
        ]
    parsed = paged(clean("\n\n".join(slide)) for slide in slides)
    first = next((blocks[0] for blocks in slides if blocks and blocks[0].startswith("## ")), "")
    left_out = unread(UnreadKind.IMAGE, count=package.count(r"^ppt/media/.*\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)$"))
    left_out += unread(
        UnreadKind.EMBEDDED_OBJECT,
        count=package.count(r"^ppt/media/.*\.(?:mp\d|m4\w|wmv|avi|mov|wav)$") + package.embedded("ppt"),
    )
    return ParsedText(
        text=parsed.text,
        title=real_title(package.title()) or first.removeprefix("## ") or None,
        page_starts=parsed.page_starts,
        unread=left_out,
    )


def _relation_id(element: Element) -> str:
    return next((value for key, value in element.items() if key.endswith("}id")), "")


def _slide(package: Package, name: str, authors: dict[str, str]) -> list[str]:
    root = package.xml(name)
    blocks = [*_blocks(package, name, root)] if root is not None else []
    titles = [block for block in blocks if block.startswith("## ")]
    blocks = [*titles, *(block for block in blocks if block not in titles)]
    for part in package.related(name, "comments"):
        for entry in part:
            text = " ".join(paragraphs(entry)) or " ".join((each.text or "") for each in children(entry, "text"))
            if text:
                blocks.append(paragraph(comment(authors.get(attribute(entry, "authorId"), ""), text)))
    for part in package.related(name, "notesSlide"):
        for shape in part.iter():
            if local(shape) == "sp" and _placeholder(shape) not in _FURNITURE:
                blocks += map(paragraph, paragraphs(shape))
    return blocks


def _blocks(package: Package, name: str, root: Element) -> Iterator[str]:
    """Yield the text of the shapes in the order of the file."""
    relations = package.relations(name)
    for entry in within(root, skipped=frozenset({"Fallback"})):
        kind = local(entry)
        if kind == "sp" and (place := _placeholder(entry)) not in _FURNITURE:
            lines = paragraphs(entry)
            yield from [f"## {' '.join(lines)}"] if place in _TITLES and lines else map(paragraph, lines)
        elif kind == "tbl":
            yield table(_rows(entry))
        elif kind in ("chart", "relIds"):
            relation = relations.get(attribute(entry, "dm" if kind == "relIds" else "id"))
            part = package.xml(relation.target) if relation is not None else None
            if part is not None:
                yield from [table(chart_rows(part))] if kind == "chart" else map(paragraph, diagram_lines(part))


def _rows(element: Element) -> Iterator[list[str]]:
    """Yield the rows of a table; what is merged over several of them stands in each."""
    above: list[str] = []
    for row in children(element, "tr"):
        cells = [" ".join(paragraphs(cell)) for cell in children(row, "tc")]
        for place, cell in enumerate(children(row, "tc")):
            if attribute(cell, "vMerge") in ("1", "true") and place < len(above):
                cells[place] = above[place]
        yield cells
        above = cells


def _placeholder(shape: Element) -> str:
    for properties in shape:
        if local(properties) == "nvSpPr":
            return attribute(child(properties, "nvPr", "ph"), "type")
    return ""
