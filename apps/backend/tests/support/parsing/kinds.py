"""Parsing of files made at test time."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.infrastructure.parsing.parser import MultiFormatParser

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def parse(filename: str, content: bytes, *, media_type: str = "") -> ParsedText:
    return MultiFormatParser().parse(SourceFile(content=content, media_type=media_type, filename=filename))


def parts_of(parsed: ParsedText) -> set[tuple[str, int, tuple[str, ...]]]:
    return {(part.kind, part.count, part.places) for part in parsed.unread}


def saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # without the time, so that equal parts are equal bytes
    return buffer.getvalue()


def part_of(content: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name).decode()


def with_parts(
    content: bytes,
    parts: Mapping[str, str | bytes],
    *,
    relations: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    without: Sequence[str] = (),
) -> bytes:
    """Return an Office package with parts replaced, added or left out, and relations added as (kind, target)."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        found: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist() if name not in without}
    found |= parts
    for part, added in (relations or {}).items():
        folder, _, name = part.rpartition("/")
        path = f"{folder}/_rels/{name}.rels"
        entries = "".join(
            f'<Relationship Id="added{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
            for number, (kind, target) in enumerate(added)
        )
        before = found.get(
            path,
            b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"></Relationships>',
        )
        text = before if isinstance(before, str) else before.decode()
        found[path] = (
            text.replace("</Relationships>", f"{entries}</Relationships>")
            if "</Relationships>" in text
            else text.replace("/>", f">{entries}</Relationships>", 1)
        )
    return zipped(found)
