"""RTF files: prepares what kreuzberg 4.10 loses of them, or shows in the wrong place."""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing.extraction import Request, extract
from ragcorp.infrastructure.parsing.kinds.labels import PAGE_NUMBER, comment, note, note_in_text
from ragcorp.infrastructure.parsing.kinds.mending import mend
from ragcorp.infrastructure.parsing.kinds.pdf import real_title
from ragcorp.infrastructure.parsing.kinds.reading import Reading, unread

_TOKEN = re.compile(r"\\([a-zA-Z]+)(-?\d{1,10})? ?|\\'[0-9a-fA-F]{2}|\\[^a-zA-Z]|[{}]|[^\\{}]+", re.DOTALL)
_MARGINS = frozenset({"header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf"})
_BOXES = frozenset({"shptxt", "dptxbxtext"})
_DROPPED = frozenset({"shp", "do", "shprslt", "nonshppict", "pict", "upr", "objdata"})
_NUMBERS = frozenset({"pntext", "listtext"})
_LABEL = re.compile(r"\(?[\w.]{1,12}[.)]\)?|\d+")
_CODE_PAGES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_WESTERN = "cp1252"
_SPECIAL = _NUMBERS | _MARGINS | _BOXES | _DROPPED | {"footnote", "annotation", "atnauthor", "ud"}
_IN_NOTES = frozenset({"u", "uc", "tab", "emdash", "endash", "lquote", "rquote", "ldblquote", "rdblquote", "bullet"})
_WORD = re.compile(r"\\([a-zA-Z]+)")
_COPIES = frozenset({"shprslt", "nonshppict"})
_MARKS = frozenset({"chftn", "chpgn", "chatn"})
_MOST_LEVELS = 20


def read_rtf(file: SourceFile, _: Reading) -> ParsedText:
    """Return the text; notes and comments as in Word files, text boxes behind their paragraph."""
    source = _Source()
    prepared = source.prepared(file.content.decode("latin-1")).encode("latin-1", "replace")
    found = extract(prepared, Request(media_type=file.media_type), "RTF")
    left_out = unread(UnreadKind.IMAGE, count=source.images)
    left_out += unread(UnreadKind.EMBEDDED_OBJECT, count=source.objects)
    return ParsedText(text=mend(found.text, escaped=True), title=real_title(found.title), unread=left_out)


@dataclass(slots=True, kw_only=True)
class _Source:
    """Rewrites RTF. ``open``: the groups, each by its kind and where it begins in ``written``; "" for a plain one."""

    images: int = 0
    objects: int = 0
    written: list[str] = field(default_factory=list)
    open: list[tuple[str, int]] = field(default_factory=list)
    levels: int = 0
    copies: int = 0
    margins: dict[str, None] = field(default_factory=dict)
    place_of_margins: int = 0
    author: str = ""
    in_unicode: str = ""
    waiting: list[str] = field(default_factory=list)
    in_table: bool = False
    code_page: str = _WESTERN

    def prepared(self, text: str) -> str:
        position = 0
        while found := _TOKEN.search(text, position):
            position = found.end()
            piece, word = found.group(), found.group(1)
            if piece == "{":
                self.open.append(("", len(self.written)))
                self.written.append(piece)
            elif piece == "}":
                self._close()
            elif word is None:
                self.written.append(_letter(piece, self.code_page) if piece.startswith("\\'") else piece)
            elif word in _CODE_PAGES or word == "ansicpg":
                self.code_page = _CODE_PAGES.get(word) or _codec(found.group(2))
                self.written.append("\\ansicpg1252 ")
            elif word == "bin":
                position += max(0, int(found.group(2) or 0))
            else:
                self._word(word, piece)
        if self.margins:
            margins = "".join(f"{{\\pard\\plain {margin}\\par}}" for margin in self.margins)
            self.written.insert(self.place_of_margins, margins)
        return "".join(self.written)

    def _word(self, word: str, piece: str) -> None:
        kind, start = self.open[-1] if self.open else ("", 0)
        is_first = len(self.written) - start <= 3 and all(
            not piece.strip() or piece == "\\*" for piece in self.written[start + 1 :]
        )
        if word in _SPECIAL and is_first and self.open and not kind and self.levels < _MOST_LEVELS:
            self.open[-1] = (word, start)
            self.levels += 1
            self.copies += word in _COPIES
        elif word == "deleted":
            self.written.append(piece.replace("deleted", "v"))
        elif word not in _MARKS:
            self.written.append(piece)
            if word in ("intbl", "pard") and not self.levels:
                self.in_table = word == "intbl"
            if word == "par" and not self.levels:
                self._put_waiting()

    def _close(self) -> None:
        kind, start = self.open.pop() if self.open else ("", 0)
        if not self.open and self.waiting:
            self.written.append("\\par ")
            self._put_waiting()
        if not kind:
            self.written.append("}")
            return
        self.levels -= 1
        self.copies -= kind in _COPIES
        pieces = self.written[start + 1 :]
        del self.written[start:]
        if self.written and _WORD.match(self.written[-1]):
            self.written.append(" ")
        if kind in _MARGINS and not PAGE_NUMBER.fullmatch(_plain(pieces).replace(r"\'e1", "á")):
            self.place_of_margins = self.place_of_margins if self.margins else start
            self.margins["".join(pieces).strip()] = None
        elif kind in _NUMBERS:
            label = " ".join(_plain(pieces).replace("\\tab", " ").split())
            self.written.append(f"{{{label} }}" if _LABEL.fullmatch(label) else "{\\'95 }")
        elif kind in _BOXES and not self.copies:
            self.waiting.append("\\pard\\plain " + "".join(pieces))
        elif kind == "footnote" and (text := _plain(pieces)):
            self.written.append(f"{{{note_in_text(text)}}}")
            self.waiting += filter(None, [note(text)])
        elif kind == "annotation":
            self.waiting.append(comment(self.author, _plain(pieces)))
        elif kind == "atnauthor":
            self.author = _plain(pieces)
        elif kind == "ud":
            self.in_unicode = "".join(piece for piece in pieces if piece != "\\*")
        elif kind == "upr":
            self.written.append(self.in_unicode)
        self.images += kind == "pict" and not self.copies
        self.objects += kind == "objdata"
        if self.in_table and not self.levels:
            self.written += (f"{{ {text}}}" for text in self.waiting)
            self.waiting.clear()

    def _put_waiting(self) -> None:
        self.written += (f"{{\\pard\\plain {text}\\par}}" for text in self.waiting)
        self.waiting.clear()


def _plain(pieces: Iterable[str]) -> str:
    """Return the text of a group, still encoded, without its formats and what only some programs understand."""
    kept: list[str] = []
    depth = skipped = 0
    for piece in pieces:
        depth += (piece == "{") - (piece == "}")
        if skipped:
            skipped = skipped if depth >= skipped else 0
        elif piece == "\\*" and depth:
            skipped = depth
        elif (word := _WORD.match(piece)) is not None:
            kept.append(piece if word.group(1) in _IN_NOTES else " " if word.group(1) == "par" else "")
        elif piece not in ("{", "}", "\\*"):
            kept.append(piece.replace("\r", "").replace("\n", ""))
    return "".join(kept).strip()


def _letter(escape: str, code_page: str) -> str:
    """Return the escape of a letter in the code page that kreuzberg expects."""
    if code_page == _WESTERN:
        return escape
    letter = bytes.fromhex(escape[2:]).decode(code_page, errors="ignore")
    western = letter.encode(_WESTERN, errors="ignore")
    return f"\\'{western[0]:02x}" if western else f"\\u{ord(letter)}?" if letter else escape


def _codec(number: str | None) -> str:
    """Return the code page of a number, if it has one byte a letter."""
    try:
        name = codecs.lookup(f"cp{int(number or 0)}").name
    except LookupError:
        return _WESTERN
    return name if name.startswith(("cp125", "cp4", "cp7", "cp8")) else _WESTERN
