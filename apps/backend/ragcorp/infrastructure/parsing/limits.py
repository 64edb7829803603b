"""Bounds on what a file may grow to, and the errors for files that give no text."""

import io
import re
import zipfile
import zlib

from ragcorp.domain.exceptions import PayloadTooLargeError, UnreadableDocumentError

_EXPANSION = 8
"""Bytes of unpacked office XML allowed per character of text: real files have 2 to 5."""

_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STRING_END = re.compile(rb"</(?:\w+:)?si>")
_TAG = re.compile(rb"<[^<>]*>")
_STRING_CELL = re.compile(rb"\bt=[\"']s[\"'][^<>]{0,200}>\s{0,20}<(?:\w+:)?v>(\d{1,9})</")
_READ_BYTES = 1 << 20

_FOLDERS = {"Word": "word/", "Excel": "xl/", "PowerPoint": "ppt/"}
_HARMLESS = 1_000_000


def too_large(max_characters: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"The document holds more than {max_characters} characters of text.",
        field="content",
        limit=str(max_characters),
        remedy="Split it into smaller documents.",
    )


def corrupt(kind: str, error: type[UnreadableDocumentError] = UnreadableDocumentError) -> UnreadableDocumentError:
    return error(
        f"The file cannot be read as {kind}: it is damaged, or of another kind.",
        field="content",
        remedy="Open it in its own program, save it again and send the new file.",
    )


def encrypted(kind: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        f"The {kind} file is protected by a password.", field="content", remedy="Remove the password and send it again."
    )


def check_office_archive(data: bytes, kind: str, max_characters: int) -> None:
    """Raise for an encrypted, damaged or explosive Office file, before a parser unpacks it.

    In a workbook, the cells that share one long string are counted as the copies that they will become.
    """
    if data.startswith(_OLE_SIGNATURE):
        raise UnreadableDocumentError(
            f"The {kind} file is protected by a password, or is in the old binary Office format.",
            field="content",
            remedy="Remove the password or save it in the current format, and send it again.",
        )
    check_archive(data, kind, max_characters, folder=_FOLDERS[kind])


def check_archive(data: bytes, kind: str, max_characters: int, *, folder: str = "") -> None:
    """Raise for a damaged or explosive archive, or one without a part in ``folder``.

    The declared sizes are bounded, then every part is unpacked once in small pieces, which verifies its size and
    checksum.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            check_unpacked(parts, len(data), max_characters)
            for part in parts:
                with archive.open(part) as stream:
                    while stream.read(_READ_BYTES):
                        pass
            if not any(part.filename.startswith(folder) for part in parts):
                raise corrupt(kind)
            if folder and _shared_text(archive) > max_characters:
                raise too_large(max_characters)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise (encrypted(kind) if "password" in str(error) else corrupt(kind)) from error


def check_unpacked(parts: list[zipfile.ZipInfo], size: int, max_characters: int) -> None:
    """Raise for an archive of ``size`` bytes whose parts declare more than it may unpack to."""
    if sum(part.file_size for part in parts) > max_characters * _EXPANSION + size:
        raise too_large(max_characters)


def _shared_text(archive: zipfile.ZipFile) -> int:
    """Return how many bytes the shared strings of a workbook take when they are put into their cells."""
    names = archive.namelist()
    table = next((name for name in names if name.lower().endswith("/sharedstrings.xml")), None)
    if table is None:
        return 0
    lengths = [len(_TAG.sub(b"", string)) for string in _STRING_END.split(archive.read(table))]
    longest = max(lengths, default=0)
    total = 0
    for name in names:
        if "/worksheets/" not in name.lower():
            continue
        sheet = archive.read(name)
        if sheet.count(b"<") * longest < _HARMLESS:
            continue
        for match in _STRING_CELL.finditer(sheet):
            index = int(match.group(1))
            total += lengths[index] if index < len(lengths) else 0
    return total
