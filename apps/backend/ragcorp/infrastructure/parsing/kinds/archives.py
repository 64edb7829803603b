"""Archives: books, and files that are read one by one."""

import posixpath
from urllib.parse import unquote

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing.extraction import shielded
from ragcorp.infrastructure.parsing.kinds.package import Element, Package, attribute, child
from ragcorp.infrastructure.parsing.kinds.reading import Reading, read_members, unread
from ragcorp.infrastructure.parsing.kinds.web import html_to_markdown
from ragcorp.infrastructure.parsing.limits import check_archive, corrupt

_MOST_MEMBERS = 1_000
_HIDDEN = ("__MACOSX/", ".")


def read_zip(file: SourceFile, reading: Reading) -> ParsedText:
    """Return a section for each member that can be read."""
    check_archive(file.content, "zip", reading.max_characters)
    package = Package(file.content)
    names = [name for name in dict.fromkeys(package.names) if not name.endswith("/") and not name.startswith(_HIDDEN)]
    members = [
        SourceFile(content=package.bytes_of(name), media_type="", filename=name) for name in names[:_MOST_MEMBERS]
    ]
    sections, left_out = read_members(members, reading, UnreadKind.MEMBER)
    return ParsedText(text="\n\n".join(sections), unread=left_out + unread(UnreadKind.MEMBER, *names[_MOST_MEMBERS:]))


def read_epub(file: SourceFile, reading: Reading) -> ParsedText:
    """Return the chapters in the order of the book."""
    check_archive(file.content, "EPUB", reading.max_characters)
    with shielded("EPUB"):
        package = Package(file.content)
        container = package.xml("META-INF/container.xml")
        name = attribute(child(container, "rootfiles", "rootfile"), "full-path")
        book = package.xml(name)
        if book is None:
            raise corrupt("EPUB")
        items = {attribute(item, "id"): _target(name, item) for item in child(book, "manifest") or ()}
        chapters = [items.get(attribute(entry, "idref"), "") for entry in child(book, "spine") or ()]
        texts = [_chapter(package.bytes_of(chapter)) for chapter in chapters if chapter in package.names]
        title = child(book, "metadata", "title")
    images = unread(UnreadKind.IMAGE, count=package.count(r"\.(?:png|jpe?g|gif|svg|webp)$"))
    return ParsedText(
        text="\n\n".join(filter(None, texts)), title=title.text if title is not None else None, unread=images
    )


def _target(book: str, item: Element) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(book), unquote(attribute(item, "href"))))


def _chapter(page: bytes) -> str:
    return html_to_markdown(page.decode(errors="replace"))[0]
