"""Archives: books, and files that are documents of their own."""

import io
import lzma
import posixpath
import re
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import unquote

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.domain.files.litter import is_lock_file, is_system_file
from ragcorp.domain.files.part_names import part_name
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.extraction import shielded
from ragcorp.infrastructure.parsing.kinds.package import Element, Package, attribute, child, local
from ragcorp.infrastructure.parsing.kinds.reading import Parts, Reading, unread
from ragcorp.infrastructure.parsing.kinds.web import read_html
from ragcorp.infrastructure.parsing.limits import check_archive, check_unpacked, corrupt, encrypted

_HIDDEN = re.compile(r"(?:^|/)(?:__MACOSX/|\.)", re.IGNORECASE)
"""In a hidden folder, or a hidden file; archives of macOS have a folder of attributes."""
_MOST_LISTED = 1_000
_ENCRYPTED, _UTF8 = 0x1, 0x800
_ENCRYPTION_OF_FONTS = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, EOFError, OSError, ValueError)
"""What zipfile raises for a member that is damaged, encrypted or packed in an unknown way."""


def read_zip(file: SourceFile, reading: Reading) -> ParsedText:
    """Return a list of the members; those that can be read are parts."""
    parts = Parts(kind=UnreadKind.MEMBER)
    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            check_unpacked(members, len(file.content), reading.max_characters)
            for member in members:
                _add(archive, member, parts)
    except _DAMAGE as error:
        raise corrupt("zip") from error
    if not parts.files and any(member.flag_bits & _ENCRYPTED for member in members):
        raise encrypted("zip")
    more = len(parts.names) - _MOST_LISTED
    lines = [f"- {name}" for name in parts.names[:_MOST_LISTED]] + ([f"- … (+{more:,})"] if more > 0 else [])
    return ParsedText(text="\n".join(lines), parts=tuple(parts.files), unread=parts.unread)


def _add(archive: zipfile.ZipFile, member: zipfile.ZipInfo, parts: Parts) -> None:
    name = _name(member)
    last = posixpath.basename(name)
    if _HIDDEN.search(name) or is_lock_file(last) or is_system_file(last):
        return
    name = parts.named(name)
    if parts.takes(name, "", member.file_size):
        try:
            parts.take(name, archive.read(member))
        except _DAMAGE:
            parts.left_out.append(name)
    else:
        parts.left_out.append(name)


def _name(member: zipfile.ZipInfo) -> str:
    """Return the name; without the mark of UTF-8 it is in UTF-8 all the same, or in the encoding of DOS."""
    if member.flag_bits & _UTF8:
        return member.filename
    raw = member.filename.encode("cp437", "replace")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp850")


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
        order = [attribute(entry, "idref") for entry in child(book, "spine") or ()]
        chapters = [items.get(item, item) for item in order]
        if _is_encrypted(package, chapters):
            raise UnreadableDocumentError(
                "The book is protected (DRM): its chapters are encrypted.",
                field="content",
                remedy="Send a copy of the book without protection.",
            )
        names = {entry.lower(): entry for entry in package.names} | {entry: entry for entry in package.names}
        found = [names.get(chapter) or names.get(chapter.lower()) for chapter in chapters]
        texts = [_chapter(package, chapter, reading) for chapter in found]
        title = child(book, "metadata", "title")
    lost = [part_name(chapter) for chapter, text in zip(chapters, texts, strict=True) if text is None]
    left_out = unread(UnreadKind.IMAGE, count=package.count(r"\.(?:png|jpe?g|gif|svg|webp)$"))
    left_out += unread(UnreadKind.MEMBER, *lost)
    return ParsedText(
        text="\n\n".join(filter(None, texts)), title=title.text if title is not None else None, unread=left_out
    )


def _chapter(package: Package, name: str | None, reading: Reading) -> str | None:
    """Return the text of a chapter; None for one that is missing or cannot be read."""
    if name is None:
        return None
    with suppress(UnreadableDocumentError):
        page = SourceFile(content=package.bytes_of(name), media_type=media_types.HTML, filename=name)
        return read_html(page, reading).text
    return None


def _is_encrypted(package: Package, chapters: Sequence[str]) -> bool:
    """Return whether a chapter is encrypted; most books with encrypted parts only have their fonts so."""
    for entry in package.xml("META-INF/encryption.xml") or ():
        method = attribute(child(entry, "EncryptionMethod"), "Algorithm")
        target = unquote(attribute(child(entry, "CipherData", "CipherReference"), "URI"))
        if (
            local(entry) == "EncryptedData"
            and method not in _ENCRYPTION_OF_FONTS
            and (not target or target in chapters)
        ):
            return True
    return False


def _target(book: str, item: Element) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(book), unquote(attribute(item, "href"))))
