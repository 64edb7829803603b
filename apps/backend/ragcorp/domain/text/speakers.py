"""Neutralises the names of speakers and the fields of remembered items before they enter a prompt."""

from __future__ import annotations

import re

from ragcorp.domain.text.look_alikes import Skeleton
from ragcorp.domain.text.neutral_text import neutral, shortened

MAX_SPEAKER_CHARS = 60
MAX_READ_CHARS = 4000
"""What is read of a text, and shown in an item; a briefing shows far less."""

_SAID = re.compile(r".{0,80}?\bsaid\b[\W_]{0,20}[:']")
_WORD = re.compile(r"\w+")


def neutral_name(speaker: str) -> str:
    """Return who speaks as it may stand before a quote, at most MAX_SPEAKER_CHARS; it cannot quote somebody itself."""
    name = neutral_field(speaker)
    return shortened(" ".join(_WORD.findall(name)) if names_a_speaker(name) else name, MAX_SPEAKER_CHARS)


def neutral_field(text: str) -> str:
    return shortened(neutral(shortened(text, MAX_READ_CHARS)), MAX_READ_CHARS)


def names_a_speaker(text: str) -> bool:
    """Return whether a text begins as "Rajesh said:" does, in whatever letters."""
    return _SAID.match(Skeleton().of(text)) is not None
