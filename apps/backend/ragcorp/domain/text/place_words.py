"""The words of a path, a title or a query, which identify the meant document by those that they share. Pure."""

import re

from ragcorp.domain.text.entity_names import heading_name

MAX_WORDS = 64
"""Maximum words of a text, the first ones."""

WORD = "word:"
"""Prefix of words among the stored names of a document."""

_STEP = re.compile(r"[^\s/\\]+")
_EXTENSION = re.compile(r"\.[^\W_]{1,10}$")


def place_words(text: str) -> tuple[str, ...]:
    """Return the distinct folded words: ``authToken.go`` has ``authtoken``, ``auth`` and ``token``."""
    words: dict[str, None] = {}
    for step in _STEP.findall(text):
        bare = _EXTENSION.sub("", step)
        spaced = _words(bare)
        for word in ("".join(spaced), *spaced, *_words(_humps_apart(bare))):
            if len(word) > 1:
                words[word] = None
        if len(words) >= MAX_WORDS:
            break
    return tuple(words)[:MAX_WORDS]


def _humps_apart(text: str) -> str:
    return "".join(
        f" {letter}" if before.islower() and letter.isupper() else letter
        for before, letter in zip(f" {text}", text, strict=False)
    )


def _words(text: str) -> list[str]:
    return heading_name(text).partition(":")[2].split()
