"""RTF: prepared for kreuzberg 4.10, which reads deleted text, and loses numbers, comments, boxes and code pages."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.extraction import Request, extract
from ragcorp.infrastructure.parsing.kinds.labels import comment, note_in_text
from ragcorp.infrastructure.parsing.kinds.mending import mend
from ragcorp.infrastructure.parsing.kinds.pdf import real_title
from ragcorp.infrastructure.parsing.kinds.reading import Reading, unread

_TOKEN = re.compile(rb"\\'[0-9a-fA-F]{2}|\\[a-zA-Z]{1,32}-?\d{0,10} ?|\\.|[{}]|[^\\{}]+", re.DOTALL)
_WORD = re.compile(rb"\\([a-zA-Z]+)(-?\d*)")
_CODE_PAGES = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
_WESTERN = "cp1252"
_NUMBERS = frozenset({b"pntext", b"listtext"})
_MARGINS = frozenset(start + end for start in (b"header", b"footer") for end in (b"", b"l", b"r", b"f"))
_KINDS = _NUMBERS | _MARGINS | {b"footnote", b"annotation", b"shp", b"shpinst", b"shptxt", b"pict"}
_LABEL = re.compile(r"\(?[\w.]{1,12}[.)]\)?|\d+")
_CONTROL = re.compile(rb"\\(?!['u]-?[0-9a-fA-F])[a-zA-Z]+-?\d* ?|\\\*|[{}\r\n]")


@dataclass(slots=True, kw_only=True)
class _Group:
    """``boxes``: the text boxes within, which go where their shape is."""

    kind: bytes = b""
    pieces: list[bytes] = field(default_factory=list)
    boxes: list[bytes] = field(default_factory=list)
    is_deleted: bool = False
    is_new: bool = True


def read_rtf(file: SourceFile, _: Reading) -> ParsedText:
    prepared, images = _prepared(file.content)
    found = extract(prepared, Request(media_type=media_types.RTF), "RTF")
    return ParsedText(
        text=mend(found.text, escaped=True),
        title=real_title(found.title),
        unread=unread(UnreadKind.IMAGE, count=images),
    )


def _prepared(source: bytes) -> tuple[bytes, int]:
    """Return the file in a form that kreuzberg reads whole, and how many images it has."""
    code_page = _WESTERN
    images = 0
    groups = [_Group()]
    for read in _tokens(source):
        token, group = read, groups[-1]
        if token == b"{":
            groups.append(_Group(is_deleted=group.is_deleted))
        elif token == b"}" and len(groups) > 1:
            images += group.kind == b"pict"
            groups.pop()
            _close(group, groups[-1])
        elif token.startswith(b"\\'"):
            group.is_new = False
            if not group.is_deleted:
                group.pieces.append(_letter(token, code_page))
        elif word := _WORD.match(token):
            name, number = word.groups()
            if name in _CODE_PAGES:
                code_page, token = _CODE_PAGES[name], b"\\ansi "
            elif name == b"ansicpg":
                code_page, token = _codec(number), b"\\ansicpg1252 "
            elif name in (b"deleted", b"plain"):
                group.is_deleted = name == b"deleted" and number != b"0"
            if group.is_new and name in _KINDS:
                group.kind = name
            elif name != b"u" or not group.is_deleted:
                group.pieces.append(token)
            group.is_new = False
        elif token == b"\\*" and group.is_new:
            group.pieces.append(token)
        elif not group.is_deleted:
            group.is_new = group.is_new and not token.strip()
            group.pieces.append(token)
    while len(groups) > 1:
        _close(groups.pop(), groups[-1])
    return b"".join(groups[0].pieces), images


def _tokens(source: bytes) -> Iterator[bytes]:
    position = 0
    while found := _TOKEN.match(source, position):
        position = found.end()
        word = _WORD.match(found.group())
        if word and word.group(1) == b"bin":
            position += max(int(word.group(2) or b"0"), 0)
        else:
            yield found.group()


def _close(group: _Group, outer: _Group) -> None:
    content = b"".join(group.pieces)
    if group.kind in _NUMBERS:
        content = b"{" + content.removeprefix(b"\\*") + b"}" if _LABEL.fullmatch(_plain(content)) else b"{\\'95 }"
    elif group.kind in _MARGINS:
        content = b"{\\" + group.kind + b" " + content + b"\\par}"
    elif group.kind == b"footnote":
        text = note_in_text(_plain(content))
        content = b"{" + text.encode("latin-1") + b"}" if text else b"{\\footnote " + content + b"}"
    elif group.kind == b"annotation":
        content = f"{{ ({comment('', _plain(content))})}}".encode("latin-1")
    elif group.kind == b"shptxt":
        outer.boxes.append(b"{" + content + b"\\par}")
        content = b""
    elif group.kind == b"shp":
        content = b"".join(group.boxes)
        group.boxes.clear()
    elif group.kind in (b"shpinst", b"pict"):
        content = b""
    else:
        content = b"{" + content + b"}"
    outer.boxes += group.boxes
    outer.pieces.append(content)


def _plain(content: bytes) -> str:
    """Return the text with its escapes, without other control words."""
    return " ".join(_CONTROL.sub(b" ", content).decode("latin-1").split())


def _letter(token: bytes, code_page: str) -> bytes:
    if code_page == _WESTERN:
        return token
    letter = bytes.fromhex(token[2:].decode()).decode(code_page, errors="ignore")
    western = letter.encode(_WESTERN, errors="ignore")
    return b"\\'%02x" % western[0] if western else b"\\u%d?" % ord(letter) if letter else token


def _codec(number: bytes) -> str:
    try:
        name = codecs.lookup(f"cp{int(number)}").name
    except (LookupError, ValueError):
        return _WESTERN
    return name if len(b"a".decode(name)) == 1 and name.startswith(("cp125", "cp4", "cp7", "cp8")) else _WESTERN
