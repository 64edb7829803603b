"""Words of files that our text lacks, by kind of file, against readers that share no code with ours.

    python -m benchmarks.words_lost FOLDER --worst 5
    python -m benchmarks.words_lost FOLDER --pdfium   # what we leave out of the text that PDFium gives

The references: the text in the XML of Office packages, ``pdftotext`` (poppler) or else pypdf, the standard library's
``email`` and ``html.parser``. A word is a run of letters and digits, and each letter of Chinese or Japanese, which put
no spaces between words: readers break their lines at other places.

``lost`` counts each occurrence. ``letters`` compares the letters and digits of all words: it leaves out words that both
readers found, with spaces at other places (``R2`` and ``R 2``, ``C o n t e n t s`` and ``Contents``). ``distinct``
counts the words that our text has nowhere, once a file.

A reference is none where more than one in a hundred of its characters is a control character: those are numbers of
glyphs, of a font that does not say which letters they show. ``--without`` leaves out other files whose reference is
wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import posixpath
import re
import shutil
import subprocess
import sys
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

from benchmarks.measure import Report
from ragcorp.domain.documents import ParsedText, UnreadKind
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.infrastructure.sandbox.pool import Limits

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.parsing.reading import child_pool, digest

_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W_{_IDEOGRAPH}]+")
_CONTROL = re.compile(r"[\0-\x08\x0e-\x1f]")
_ADDRESS = re.compile(r"\b(?:https?://|www\.|mailto:|cid:)[^\s<>\"')\]]+", re.IGNORECASE)
_ENCLOSED_ADDRESS = re.compile(r"<[^<>\s]+@[^<>\s]+>")
_MOST_CONTROLS = 0.01
_SECONDS = 30.0


def words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).replace("\u00ad", "").replace("\u200b", "").casefold()
    return _WORD.findall(_ADDRESS.sub(" ", plain))


def _local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _texts(
    element: ET.Element, *, kept: frozenset[str], breaks: frozenset[str], skipped: frozenset[str]
) -> Iterator[str]:
    """Yield the text of the ``kept`` tags, with a space at each of the ``breaks``."""
    name = _local(element)
    if name in skipped:
        return
    if name in breaks:
        yield " "
    if name in kept:
        yield element.text or ""
    for entry in element:
        yield from _texts(entry, kept=kept, breaks=breaks, skipped=skipped)
    if name in breaks:
        yield " "


class _Package:
    def __init__(self, content: bytes) -> None:
        self.archive = zipfile.ZipFile(io.BytesIO(content))
        self.names = self.archive.namelist()

    def roots(self, pattern: str) -> Iterator[ET.Element]:
        for name in self.names:
            if re.fullmatch(pattern, name, re.IGNORECASE):
                yield ET.fromstring(self.archive.read(name))


_OFFICE = {
    "kept": frozenset({"t"}),
    "breaks": frozenset({"p", "br", "tab", "cr", "tc", "oMath"}),
    "skipped": frozenset({"del", "moveFrom", "Fallback", "delText", "instrText"}),
}


def _word_text(content: bytes) -> str:
    package = _Package(content)
    body = [
        "".join(_texts(root, **_OFFICE))
        for root in package.roots(r"word/(?:document|footnotes|endnotes|comments)\.xml")
    ]
    margins = {"".join(_texts(root, **_OFFICE)) for root in package.roots(r"word/(?:header|footer)\d*\.xml")}
    return " ".join([*body, *margins])


def _slides_text(content: bytes) -> str:
    package = _Package(content)
    found: list[str] = []
    for root in package.roots(r"ppt/(?:slides|notesSlides|diagrams)/(?:slide|notesSlide|data)\d*\.xml"):
        for shape in list(root.iter()):
            place = next((entry.get("type") for entry in shape.iter() if _local(entry) == "ph"), None)
            if _local(shape) == "sp" and place in ("sldNum", "dt", "ftr", "hdr"):
                shape.clear()
        found.append("".join(_texts(root, **_OFFICE)))
    return " ".join(found)


def _workbook_text(content: bytes) -> str:
    """Return the texts of the cells of visible sheets: numbers are compared by their formats' own tests."""
    package = _Package(content)
    shared = [
        "".join(_texts(entry, kept=frozenset({"t"}), breaks=frozenset(), skipped=frozenset({"rPh"})))
        for root in package.roots(r"xl/sharedStrings\.xml")
        for entry in root
    ]
    targets: dict[str, str] = {}
    for root in package.roots(r"xl/_rels/workbook\.xml\.rels"):
        targets = {
            entry.get("Id", ""): posixpath.normpath(posixpath.join("/xl", entry.get("Target", ""))) for entry in root
        }
    found: list[str] = []
    for book in package.roots(r"xl/workbook\.xml"):
        for sheet in (entry for entry in book.iter() if _local(entry) == "sheet" and not entry.get("state")):
            key = next((value for name, value in sheet.items() if name.endswith("}id")), "")
            for root in package.roots(re.escape(targets.get(key, "/?").lstrip("/"))):
                for cell in (entry for entry in root.iter() if _local(entry) == "c"):
                    value = next((entry.text or "" for entry in cell if _local(entry) == "v"), "")
                    if cell.get("t") == "s" and value.isdecimal() and int(value) < len(shared):
                        found.append(shared[int(value)])
                    elif cell.get("t") in ("str", "inlineStr"):
                        found.append(value + "".join(_texts(cell, **_OFFICE)))
    return " ".join(found)


def _open_document_text(content: bytes) -> str:
    package = _Package(content)
    found: list[str] = []
    for root in package.roots(r"content\.xml"):
        body = next((entry for entry in root if _local(entry) == "body"), root)
        for entry in list(body.iter()):
            if _local(entry) in ("tracked-changes", "note-citation", "creator", "date", "forms", "page-number"):
                tail = entry.tail
                entry.clear()
                entry.tail = tail
            if _local(entry) in ("p", "h", "tab", "s", "line-break"):
                entry.text, entry.tail = f" {entry.text or ''}", f" {entry.tail or ''}"
        found.append("".join(body.itertext()))
    return " ".join(found)


def _pdf_text(content: bytes) -> str:
    if shutil.which("pdftotext"):
        done = subprocess.run(
            ["pdftotext", "-q", "-", "-"], input=content, capture_output=True, timeout=60, check=False
        )
        return done.stdout.decode(errors="replace")
    import pypdf

    return "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages)


def _pdfium_text(content: bytes) -> str:
    import pypdfium2

    with pypdfium2.PdfDocument(content) as document:
        text = "\n".join(page.get_textpage().get_text_range() for page in document)
    return re.sub(r"[\x02\ufffe](?:\r?\n)?", "-", re.sub(r"(?<=[^\W\d_])[\x02\ufffe](?:\r?\n)?(?=[a-zß-ÿ])", "", text))


class _Shown(HTMLParser):
    _HIDDEN = frozenset({"script", "style", "template", "head", "nav", "datalist"})
    _INLINE = frozenset(
        {"a", "b", "i", "em", "strong", "span", "font", "u", "small", "sup", "sub", "code", "tt", "abbr"}
    )

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        if tag in self._HIDDEN:
            self._hidden.append(tag)
        self.pieces.append("" if tag in self._INLINE else " ")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden and self._hidden.pop() != tag:
                pass
        self.pieces.append("" if tag in self._INLINE else " ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def shown_text(source: str) -> str:
    parser = _Shown()
    parser.feed(source)
    return "".join(parser.pieces)


def _page_text(content: bytes) -> str:
    return shown_text(_decoded(content))


def _decoded(content: bytes) -> str:
    unmarked = {b"\0": "utf-16-be"}.get(content[:1]) or ("utf-16-le" if content[1:2] == b"\0" else "utf-8")
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if marked else unmarked, errors="replace")


def _mail_text(content: bytes) -> str:
    """Return headers and body: attachments are documents of their own."""
    if b"\0" in content[:4]:
        content = _decoded(content).encode()
    message = message_from_bytes(content, policy=policy.default)
    assert isinstance(message, EmailMessage)
    found = [str(message[name]) for name in ("Subject", "From", "To", "Cc") if message[name]]
    parts = list(_body_parts(message))
    kinds = [part.get_content_type() for part in parts]
    for part, kind in zip(parts, kinds, strict=True):
        if kind == "text/plain" or (kind == "text/html" and "text/plain" not in kinds):
            with contextlib.suppress(LookupError, UnicodeError):
                text = str(part.get_content())
                found.append(shown_text(text) if kind == "text/html" else text)
    return _ENCLOSED_ADDRESS.sub(" ", " ".join(found))


def _body_parts(part: MIMEPart) -> Iterator[MIMEPart]:
    if part.get_content_maintype() == "multipart":
        for inner in part.iter_parts():
            if isinstance(inner, MIMEPart):
                yield from _body_parts(inner)
    elif not part.is_attachment() and part.get_content_maintype() == "text":
        yield part


REFERENCES: Mapping[str, Callable[[bytes], str]] = {
    **dict.fromkeys((".docx", ".docm"), _word_text),
    **dict.fromkeys((".pptx", ".ppsx"), _slides_text),
    **dict.fromkeys((".xlsx", ".xlsm"), _workbook_text),
    **dict.fromkeys((".odt", ".ods", ".odp"), _open_document_text),
    ".pdf": _pdf_text,
    ".eml": _mail_text,
    **dict.fromkeys((".html", ".htm"), _page_text),
}


@dataclass(slots=True, kw_only=True)
class Loss:
    file: Path
    words: int
    lost: Counter[str]
    letters: int = 0
    letters_lost: int = 0
    distinct: int = 0
    outcome: str = "text"

    @property
    def kind(self) -> str:
        return self.file.suffix.lower().lstrip(".")


def compare(file: Path, parsed: ParsedText, reference: str) -> Loss:
    theirs, ours = words(reference), words(parsed.text)
    lost = Counter(theirs) - Counter(ours)
    known = frozenset(ours)
    named = [part.kind for part in parsed.unread if part.kind is not UnreadKind.IMAGE]
    return Loss(
        file=file,
        words=len(theirs),
        lost=lost,
        letters=sum(map(len, theirs)),
        letters_lost=(Counter("".join(theirs)) - Counter("".join(ours))).total(),
        distinct=sum(1 for word in lost if word not in known),
        outcome=" ".join(["text", *named]),
    )


def _legible(reference: str) -> str:
    if len(_CONTROL.findall(reference)) > _MOST_CONTROLS * len(reference):
        raise ValueError("The reference has numbers of glyphs.")
    return reference


async def losses(files: Sequence[Path], references: Mapping[str, Callable[[bytes], str]]) -> list[Loss]:
    found: list[Loss] = []
    limits = Limits(seconds=_SECONDS, memory_bytes=1 << 30, processes=1)
    async with child_pool(limits) as pool:
        for file in files:
            read = references[file.suffix.lower()]
            content = file.read_bytes()
            try:
                parsed = (await digest(pool, file.name, content)).parsed
            except RagcorpError as error:
                outcome = str(error.reason or error.code)
                found.append(Loss(file=file, words=0, lost=Counter(), outcome=outcome))
                continue
            try:
                found.append(compare(file, parsed, _legible(read(content))))
            except Exception as error:  # noqa: BLE001 - a reference that cannot read the file says nothing
                outcome = f"no reference: {type(error).__name__}"
                found.append(Loss(file=file, words=0, lost=Counter(), outcome=outcome))
    return found


def report(found: list[Loss], out: Report, *, worst: int) -> None:
    kinds = sorted({loss.kind for loss in found})
    rows = []
    for kind in kinds:
        read = [loss for loss in found if loss.kind == kind and loss.words]
        total = sum(loss.words for loss in read)
        rows.append(
            {
                "kind": kind,
                "files": sum(loss.kind == kind for loss in found),
                "compared": len(read),
                "words": total,
                "lost_percent": round(100 * sum(loss.lost.total() for loss in read) / max(total, 1), 3),
                "letters_percent": round(
                    100 * sum(loss.letters_lost for loss in read) / max(sum(loss.letters for loss in read), 1), 3
                ),
                "distinct_percent": round(100 * sum(loss.distinct for loss in read) / max(total, 1), 3),
            }
        )
    out.table("words lost", rows)
    out.table(
        "worst files",
        [
            {
                "file": loss.file.name[-70:],
                "words": loss.words,
                "lost": loss.lost.total(),
                "letters": loss.letters_lost,
                "of_these": " ".join(f"{word}:{count}" for word, count in loss.lost.most_common(8)),
            }
            for kind in kinds
            for loss in sorted((loss for loss in found if loss.kind == kind), key=lambda each: -each.lost.total())[
                :worst
            ]
            if loss.lost
        ],
    )
    refused = Counter((loss.kind, loss.outcome) for loss in found if not loss.words)
    out.table(
        "not compared", [{"kind": kind, "outcome": what, "files": n} for (kind, what), n in sorted(refused.items())]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--worst", type=int, default=3, help="files to show of each kind")
    parser.add_argument("--pdfium", action="store_true", help="compare PDF with the same library's text, page by page")
    parser.add_argument("--without", nargs="*", default=(), metavar="NAME", help="names of files to leave out")
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, tables on stderr")
    arguments = parser.parse_args()
    out = Report(as_json=arguments.json)
    files = [
        file
        for file in sorted(arguments.folder.rglob("*"))
        if file.suffix.lower() in REFERENCES and file.name not in arguments.without
    ]
    references = {**REFERENCES, **({".pdf": _pdfium_text} if arguments.pdfium else {})}
    report(asyncio.run(losses(files, references)), out, worst=arguments.worst)
    out.end()


if __name__ == "__main__":
    main()
