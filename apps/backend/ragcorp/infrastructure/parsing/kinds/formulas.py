"""Formulas of Office documents (OMML) on one line."""

from ragcorp.infrastructure.parsing.kinds.package import Element, child, local

_JOINED = {"f": ("num", "/", "den"), "sSup": ("e", "^", "sup"), "sSub": ("e", "_", "sub")}
_MOST_LEVELS = 40


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
