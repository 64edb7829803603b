"""Makes quoted text harmless in an answer: it closes no quotation of the answer, and is inert where it is shown.

Pure. Ordinary text of documents stays as it is.
"""

import re

from ragcorp.domain.citations.checks import as_plain_text

_LINE_ENDS = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
"""Direction controls are among them: an open one reverses all following text."""

HIDDEN = re.compile("[\u00ad\u034f\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]")
"""Characters that readers do not see but language models read; without joiners, which some scripts need."""

_LINK = re.compile(r"\](?=\()")
_TAG = re.compile(
    r"<(?=[/!?]|[a-z][^<>]*=|[a-z][a-z0-9+.-]{1,31}:|(?:a|audio|base|body|button|details|embed|form|frame|html|iframe|"
    r"image|img|input|link|math|meta|object|script|style|svg|video)\b)([^<>]*)(>?)",
    re.IGNORECASE,
)
"""Tags that close, load or run something, but no placeholders like <name>."""

_QUOTES = str.maketrans(
    dict.fromkeys("\u00ab\u226a\u27ea\u300a", "\u2039") | dict.fromkeys("\u00bb\u226b\u27eb\u300b", "\u203a")
)


def harmless(text: str) -> str:
    """Return one line of inert text: [a](b) becomes [a] (b), tags get single guillemets, control characters go."""
    plain = _LINK.sub("] ", HIDDEN.sub("", _CONTROLS.sub("", _LINE_ENDS.sub(" ", text))))
    return _TAG.sub(lambda tag: f"\u2039{tag[1]}{tag[2] and chr(0x203A)}", plain)


def inside_quotes(text: str) -> str:
    """Return harmless text for use between « and »: its own [n] become (n), its own quotes single."""
    return as_plain_text(harmless(text)).translate(_QUOTES)
