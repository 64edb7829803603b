"""Web pages, and what other readers turn into HTML."""

import html
import re
from collections.abc import Iterator

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.decoding import text_of
from ragcorp.infrastructure.parsing.extraction import Request, extract
from ragcorp.infrastructure.parsing.kinds.formulas import mathml
from ragcorp.infrastructure.parsing.kinds.html_layout import unwrap_layouts
from ragcorp.infrastructure.parsing.kinds.mending import mend
from ragcorp.infrastructure.parsing.kinds.reading import Reading, unread

_META_CHARSET = re.compile(rb"(?:charset|encoding)\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})", re.IGNORECASE)
_TAG = re.compile(r"<!--|<(/?)([a-z][a-z0-9]*)\b((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>", re.IGNORECASE)
_OMITTED = frozenset({"meta", "link", "base"})
_RAW = frozenset({"script", "style", "template", "math"})
_RENAMED = {"svg": "div", "text": "p", "noscript": "div"}
_BLOCKS = frozenset(
    {"div", "section", "article", "main", "form", "fieldset", "blockquote", "center", "table", "ul", "ol", "header"}
    | {"footer", "aside", "details", "figure", "address"}
)
_INLINE = frozenset({"span", "font", "b", "i", "em", "strong", "u", "small", "a", "label"})
_LEVELS = {"table": 4, "ul": 2, "ol": 2}
"""How deep one element may nest those within it, where that is not one level."""
_MOST_LEVELS = 40
"""Kreuzberg 4.10 omits elements that are nested more than 63 deep."""
_MOST_MISNESTED = 8
_VALUE = re.compile(r"\bvalue\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_UNSHOWN_INPUT = re.compile(r"\btype\s*=\s*[\"']?(?:hidden|password|image|file)\b", re.IGNORECASE)
_BOX = re.compile(r"\btype\s*=\s*[\"']?(?:checkbox|radio)\b", re.IGNORECASE)
_CHOSEN = re.compile(r"(?<![\w-])(?:checked|selected)\b(?!-)", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_OPTION = re.compile(r"<option\b((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>([^<]*)", re.IGNORECASE)
_END_OF_LIST = re.compile(r"</(?:select|datalist)\s*>", re.IGNORECASE)
_MULTIPLE = re.compile(r"(?<![\w-])multiple\b", re.IGNORECASE)
_RAISED = re.compile(r"<(sup|sub)\b[^<>]*>([\d+\-()n]{1,12})</\1\s*>", re.IGNORECASE)
_SIGNS = {
    "sup": str.maketrans("0123456789+-()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ"),
    "sub": str.maketrans("0123456789+-()n", "₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙ"),
}


def read_html(file: SourceFile, _: Reading) -> ParsedText:
    declared = _META_CHARSET.search(file.content[:2048])
    source = text_of(file, declared=declared.group(1).decode("ascii") if declared else None)
    markdown, title = html_to_markdown(source)
    frames = len(re.findall(r"<(?:iframe|object|embed)\b", source, re.IGNORECASE))
    return ParsedText(text=markdown, title=title, unread=unread(UnreadKind.EMBEDDED_OBJECT, count=frames))


def html_to_markdown(source: str) -> tuple[str, str | None]:
    """Return Markdown and the ``<title>``."""
    lowered = source.lower() if len(source.lower()) == len(source) else source
    title = None
    opening = lowered.find("<title")
    head = lowered.find("<svg") if opening >= 0 else -1
    start = lowered.find(">", opening) + 1 if opening >= 0 and not 0 <= head < opening else 0
    closing = lowered.find("</title", start) if start else -1
    if closing >= 0:
        title = html.unescape(source[start:closing])
        source = source[:opening] + source[closing + len("</title>") :]
    body = _RAISED.sub(lambda found: found.group(2).translate(_SIGNS[found.group(1).lower()]), source)
    body = "".join(_flattened(unwrap_layouts("".join(_shown(body)))))
    return mend(extract(body.encode(), Request(media_type=media_types.HTML), "HTML").text, escaped=False), title


def _shown(source: str) -> Iterator[str]:
    """Yield the source with the values of inputs and formulas as text, without head tags (they become front matter)."""
    position = 0
    last_list = max((end.start() for end in _END_OF_LIST.finditer(source)), default=0)
    while found := _TAG.search(source, position):
        yield source[position : found.start()]
        position = found.end()
        if found.group() == "<!--":
            ending = source.find("-->", position)
            position = ending + 3 if ending >= 0 else len(source)
            continue
        closes, name, rest = found.group(1), found.group(2).lower(), found.group(3)
        if name in _RAW and not closes:
            end = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(source, position)
            if name == "math":
                yield f" {html.escape(mathml(source[found.start() : end.end() if end else len(source)]))} "
            position = end.end() if end else len(source)
        elif name == "input":
            yield _shown_value(rest)
        elif name in ("select", "datalist") and not closes and position <= last_list:
            end = _END_OF_LIST.search(source, position)
            inner = source[position : end.start() if end else position]
            position = end.end() if end else position
            yield _shown_options(rest, inner) if name == "select" else ""
        elif name == "hr":  # kreuzberg takes the text before a rule for a heading
            yield "<br>"
        elif name in _RENAMED:
            yield f"<{closes}{_RENAMED[name]}>"
        elif name not in _OMITTED:
            yield found.group()
    yield source[position:]


def _flattened(source: str) -> Iterator[str]:
    """Yield the source without the tags of deep nesting."""
    open_tags: list[tuple[str, bool]] = []
    depth = position = 0
    kept = True
    for found in _TAG.finditer(source):
        yield source[position : found.start()]
        position = found.end()
        closes, name = found.group(1), (found.group(2) or "").lower()
        if name not in _BLOCKS and name not in _INLINE:
            yield found.group()
        elif not closes:
            kept = depth < _MOST_LEVELS
            open_tags.append((name, kept))
            depth += _LEVELS.get(name, 1)
            yield found.group() if kept else _gap(name)
        elif any(opened == name for opened, _ in open_tags[-_MOST_MISNESTED:]):
            opened = ""
            while opened != name:
                opened, kept = open_tags.pop()
                depth -= _LEVELS.get(opened, 1)
            yield found.group() if kept else _gap(name)
        else:
            yield found.group()
    yield source[position:]


def _gap(name: str) -> str:
    return "<br>" if name in _BLOCKS else ""


def _shown_value(attributes: str) -> str:
    if _BOX.search(attributes):
        return " ☒ " if _is_chosen(attributes) else " ☐ "
    value = None if _UNSHOWN_INPUT.search(attributes) else _VALUE.search(attributes)
    return f" {next(filter(None, value.groups()), '')} " if value else ""


def _shown_options(attributes: str, inner: str) -> str:
    """Return the options of a list that are chosen, else the first one."""
    options = _OPTION.findall(inner)
    chosen = [text.strip() for marks, text in options if _is_chosen(marks)]
    if not chosen and not _MULTIPLE.search(_QUOTED.sub("", attributes)):
        chosen = [text.strip() for _, text in options[:1]]
    return f" {', '.join(filter(None, chosen))} "


def _is_chosen(attributes: str) -> bool:
    return bool(_CHOSEN.search(_QUOTED.sub("", attributes)))
