"""Zip packages of XML parts: Office Open XML, OpenDocument and EPUB."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element, fromstring

__all__ = [
    "ASIDE",
    "Element",
    "Package",
    "Relation",
    "attribute",
    "child",
    "children",
    "local",
    "paragraphs",
    "transitional",
    "within",
]

ASIDE = frozenset({"del", "moveFrom", "Fallback", "pPr", "rPr", "endParaRPr", "instrText", "delText", "txbxContent"})
_SIGNS = {"tab": " ", "ptab": " ", "br": " ", "cr": " ", "noBreakHyphen": "-"}
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")


class Relation(NamedTuple):
    """``kind``: the last word of its type; ``target``: the name of a part of the package."""

    kind: str
    target: str


def transitional(data: bytes) -> bytes:
    """Return an Office file of the kind "Strict" with the names of the usual kind, which libraries know."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if "_rels/.rels" not in archive.namelist() or not _STRICT.search(archive.read("_rels/.rels")):
            return data
        renamed = io.BytesIO()
        with zipfile.ZipFile(renamed, "w", zipfile.ZIP_DEFLATED) as written:
            for name in archive.namelist():
                part = archive.read(name)
                if name.endswith((".xml", ".rels")):
                    part = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", part)
                written.writestr(name, part)
    return renamed.getvalue()


class Package:
    """The parts of a package whose sizes were checked before."""

    def __init__(self, data: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        self.names = self._archive.namelist()
        self._known = frozenset(self.names)

    def bytes_of(self, name: str) -> bytes:
        return self._archive.read(name)

    def xml(self, name: str) -> Element | None:
        """Return the root of a part; None if the package lacks it."""
        return fromstring(self.bytes_of(name)) if name in self._known else None  # noqa: S314 - see the import

    def _relations(self, part: str) -> Iterator[Element]:
        folder, name = posixpath.split(part)
        yield from self.xml(posixpath.join(folder, "_rels", f"{name}.rels")) or ()

    def relation_ids(self, part: str) -> set[str]:
        """Return the identifiers of all relations of a part."""
        return {entry.get("Id", "") for entry in self._relations(part)}

    def relations(self, part: str = "") -> dict[str, Relation]:
        """Return the relations of a part, or of the package, to parts that exist, by identifier."""
        folder = posixpath.dirname(part)
        found: dict[str, Relation] = {}
        for entry in self._relations(part):
            target = posixpath.normpath(posixpath.join("/", folder, unquote(entry.get("Target", "")))).lstrip("/")
            if entry.get("TargetMode") != "External" and target in self._known:
                found[entry.get("Id", "")] = Relation(entry.get("Type", "").rpartition("/")[2], target)
        return found

    def main(self) -> str | None:
        """Return the name of the main part of an Office document."""
        return next((target for kind, target in self.relations().values() if kind == "officeDocument"), None)

    def title(self) -> str | None:
        """Return the title among the properties of an Office document."""
        title = child(self.xml("docProps/core.xml"), "title")
        return title.text if title is not None else None

    def related(self, part: str, kind: str) -> Iterator[Element]:
        """Yield the roots of the parts of a kind that a part refers to."""
        for relation in self.relations(part).values():
            if relation.kind == kind and (root := self.xml(relation.target)) is not None:
                yield root

    def embedded(self, folder: str) -> int:
        """Return how many files are embedded in an Office document, without the data of its charts."""
        charts = (name for name in self.names if re.match(rf"{folder}/charts/[^/]+\.xml$", name))
        data = {relation.target for chart in charts for relation in self.relations(chart).values()}
        return sum(1 for name in self.names if re.match(rf"{folder}/embeddings/[^/]+$", name) and name not in data)

    def count(self, pattern: str) -> int:
        """Return how many part names match the pattern."""
        return sum(1 for name in self.names if re.search(pattern, name))


def local(element: Element) -> str:
    """Return the tag without its namespace; "" for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element | None, name: str, default: str = "") -> str:
    """Return an attribute by its name without a namespace."""
    for key, value in element.items() if element is not None else ():
        if key.rpartition("}")[2] == name:
            return value
    return default


def children(element: Element | None, name: str) -> Iterator[Element]:
    return (entry for entry in (element if element is not None else ()) if local(entry) == name)


def child(element: Element | None, *path: str) -> Element | None:
    """Return the first descendant along a path of tags."""
    for name in path:
        element = next(children(element, name), None)
    return element


def within(element: Element, *, skipped: frozenset[str]) -> Iterator[Element]:
    """Yield the descendants in order, without the elements of ``skipped`` tags and what they hold."""
    waiting = list(reversed(element))
    while waiting:
        entry = waiting.pop()
        if local(entry) not in skipped:
            yield entry
            waiting.extend(reversed(entry))


def paragraphs(element: Element, *, skipped: frozenset[str] = ASIDE) -> list[str]:
    """Return the text of each paragraph (``p``) of an Office part that has one."""
    lines: list[str] = []
    for entry in element.iter():
        if local(entry) == "p":
            parts = within(entry, skipped=skipped)
            pieces = [(part.text or "") if local(part) == "t" else _SIGNS.get(local(part), "") for part in parts]
            if text := " ".join("".join(pieces).split()):
                lines.append(text)
    return lines
