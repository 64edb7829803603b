"""Checks the citations [n] of an answer while it streams, and finds the words that a citation rests on."""

from __future__ import annotations

import re

CITATION = re.compile(r"\[(\d{1,4})\]")
_OPEN = re.compile(r"\s?\[\d{0,4}$")
_WORD = re.compile(r"\w+")
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"»”)\]]*\s+(?=[\"«“¿¡(\[]*[A-ZÁÉÍÓÚÜÑ0-9])|\n+")

MAX_QUOTE = 400


class CitationFilter:
    """Removes every [n] whose n is not ``allowed`` from text that comes in pieces."""

    def __init__(self, *, allowed: frozenset[int]) -> None:
        self._allowed = allowed
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what of the text so far is safe to show; an unfinished [n is held back."""
        text = self._held + text
        unfinished = _OPEN.search(text)
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        return self._checked(text[:cut])

    def finish(self) -> str:
        """Return what was held back."""
        text, self._held = self._held, ""
        return self._checked(text)

    def _checked(self, text: str) -> str:
        return re.sub(
            r"(\s?)\[(\d{1,4})\]", lambda found: found.group() if int(found[2]) in self._allowed else "", text
        )


def cited_numbers(text: str) -> list[int]:
    """Return the numbers cited in ``text``, each once, in order of first appearance."""
    return list(dict.fromkeys(int(number) for number in CITATION.findall(text)))


def sentences(text: str) -> list[str]:
    """Split text into sentences and lines; a table row or a list item is one."""
    return [part.strip() for part in SENTENCE_END.split(text) if part and part.strip()]


def best_quote(answer: str, n: int, content: str) -> str:
    """Return the sentence of ``content`` that shares most words with what the answer says before [n]."""
    claim_words: set[str] = set()
    for sentence in sentences(answer):
        if f"[{n}]" in sentence:
            claim_words |= set(_WORD.findall(sentence.lower()))
    candidates = sentences(content)
    if not candidates:
        return content[:MAX_QUOTE]
    best = max(candidates, key=lambda candidate: len(claim_words & set(_WORD.findall(candidate.lower()))))
    return best[:MAX_QUOTE]
