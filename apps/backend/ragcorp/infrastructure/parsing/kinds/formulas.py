"""Formulas on one line: of Office documents (OMML) and of web pages (MathML)."""

import re
from html import unescape
from xml.etree.ElementTree import ParseError, fromstring

from ragcorp.infrastructure.parsing.kinds.package import Element, child, local

_JOINED = {"f": ("num", "/", "den"), "sSup": ("e", "^", "sup"), "sSub": ("e", "_", "sub")}
_MATHML = {"mfrac": "/", "msup": "^", "msub": "_"}
_MOST_LEVELS = 40
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#\d+|#x[\da-fA-F]+);)\w+;")
_TAG = re.compile(r"<[^<>]*>")


def formula(element: Element, level: int = 0) -> str:
    """Return the text of a formula; fractions, exponents, indices and roots with their signs."""
    name = local(element)
    if name == "t":
        return element.text or ""
    if level > _MOST_LEVELS:
        return "".join(element.itertext())
    if name in _JOINED:
        first, sign, second = _JOINED[name]
        return _grouped(child(element, first), level) + sign + _grouped(child(element, second), level)
    if name == "rad":
        return "√" + _grouped(child(element, "e"), level)
    inner = "".join(formula(entry, level + 1) for entry in element)
    return f"({inner})" if name == "d" else inner


def _grouped(element: Element | None, level: int) -> str:
    text = formula(element, level + 1) if element is not None else ""
    return f"({text})" if len(text) > 1 and not text.isalnum() else text


def mathml(source: str) -> str:
    """Return a formula of a web page on one line; without its tags if it is not well formed."""
    try:
        root = fromstring(_ENTITY.sub(lambda found: unescape(found.group()), source))  # noqa: S314 - has no entities left
    except ParseError:
        return " ".join(_TAG.sub(" ", source).split())
    return _on_line(root)


def _on_line(element: Element, level: int = 0) -> str:
    name = local(element)
    if name in ("annotation", "annotation-xml"):
        return ""
    if level > _MOST_LEVELS or not len(element):
        return "".join("".join(element.itertext()).split())
    parts = [_on_line(entry, level + 1) for entry in element]
    if name in _MATHML and len(parts) == 2:
        return _MATHML[name].join(f"({part})" if len(part) > 1 and not part.isalnum() else part for part in parts)
    return f"√({''.join(parts)})" if name == "msqrt" else "".join(parts)
