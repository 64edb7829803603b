"""Reads the citations [n] of an answer, and finds the words that a citation rests on."""

import re
from collections.abc import Sequence

from ragcorp.domain.documents import Chunk

SENTENCE_END = re.compile(r"(?<=[.!?…])[\"»”)\]]*\s+(?=[\"«“¿¡(\[]*[A-ZÁÉÍÓÚÜÑ0-9])|\n+")
CITATION = re.compile(r"\[(\d{1,9})\]")
_CITATIONS = re.compile(r"\[\s*(\d{1,9}(?:\s*[,;]\s*\d{1,9})*)\s*\]")
_WORD = re.compile(r"\w+")

MAX_QUOTE = 400
MAX_CITED_LINES = 12


def as_plain_text(quoted: str) -> str:
    """Return quoted text with its own [n], which would read as a citation of ours, written as (n)."""
    return _CITATIONS.sub(r"(\1)", quoted)


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


def cited_lines(chunk: Chunk, quotes: Sequence[str]) -> tuple[int, int]:
    """Return the lines of the quotes, up to MAX_CITED_LINES, else of the first, else the passage's first lines."""
    # a chunk that starts inside a table repeats its header, whose lines are not those of its span
    repeated = max(0, chunk.content.count("\n") - (chunk.line_end - chunk.line_start))
    spans = [span for quote in quotes if (span := _span(chunk.content, quote)) is not None]
    lines = [
        tuple(max(chunk.line_start, chunk.line_start + newlines - repeated) for newlines in span) for span in spans
    ]
    if not lines:
        return chunk.line_start, min(chunk.line_end, chunk.line_start + MAX_CITED_LINES - 1)
    first, last = min(line[0] for line in lines), max(line[1] for line in lines)
    if last - first >= MAX_CITED_LINES:
        first, last = lines[0]
    return first, min(last, first + MAX_CITED_LINES - 1)


def quoted_at(quote: str, text: str, start: int = 0) -> re.Match[str] | None:
    """Return the first match of the words of ``quote`` in ``text`` from ``start`` on, with any space between them."""
    words = r"\s+".join(map(re.escape, quote.split()))
    return re.compile(words).search(text, start) if words else None


def _span(content: str, quote: str) -> tuple[int, int] | None:
    """Return the number of line ends in ``content`` before the beginning and before the end of a quote."""
    match = quoted_at(quote, content)
    return (content.count("\n", 0, match.start()), content.count("\n", 0, match.end())) if match else None
