"""From what was found in a text to the drafts of entities: heads, tokens, keys, and what is embedded."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from ragcorp.domain.ports.structure import Tokenizer
from ragcorp.domain.structure.entities import MAX_ENTITY_CHARACTERS, MAX_HEAD_TOKENS, EntityDraft
from ragcorp.infrastructure.structure.code import CodeEntity
from ragcorp.infrastructure.structure.text_span import TextSpan

MAX_INDEX_TOKENS = 200
"""Of what is embedded for a symbol: some 256 of the local model, whose tokens of code are shorter."""
MIN_FILE_TOKENS = 8
"""Text of a file outside its symbols is embedded from this length on: ``package app`` is not distinctive."""

_LONGEST_TOKEN = 128
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")


class Drafts:
    """Writes the drafts of one document, under keys that are unique in it."""

    def __init__(self, text: str, *, path: str, tokenizer: Tokenizer) -> None:
        self._text = text
        self._path = path
        self._tokenizer = tokenizer
        self._keys: dict[str, int] = {}

    def of_code(self, entities: Sequence[CodeEntity], *, language: str) -> tuple[EntityDraft, ...]:
        starts = [0, *(found.end() for found in re.finditer("\n", self._text))]
        keys = [self._key(f"{self._path}::{found.qualified}" if found.qualified else self._path) for found in entities]
        drafts = []
        for key, found in zip(keys, entities, strict=True):
            content, cut = _cut_characters(found.content)
            tokens = self._tokenizer.count(content)
            head = content if tokens <= MAX_HEAD_TOKENS else self._head(content, lead=found.lead, body=found.body)
            drafts.append(
                EntityDraft(
                    key=key,
                    kind=found.kind,
                    name=found.name,
                    names=found.names,
                    container=None if found.container is None else keys[found.container],
                    language=language,
                    content=content,
                    head=head,
                    token_count=tokens,
                    head_tokens=tokens if head is content else self._tokenizer.count(head),
                    line_start=bisect_right(starts, found.start),
                    line_end=bisect_right(starts, self._last(found.start, found.end)),
                    calls=found.calls,
                    index_text=(
                        self._index_text(found.qualified, content)
                        if language and (found.qualified or tokens >= MIN_FILE_TOKENS)
                        else None
                    ),
                    cut=cut,
                )
            )
        return tuple(drafts)

    def of_text(self, spans: Sequence[TextSpan]) -> tuple[EntityDraft, ...]:
        renamed = {span.key: self._key(span.key) for span in spans}
        drafts = []
        for span in spans:
            whole = self._text[span.start : span.end] if span.content is None else span.content
            content, cut = _cut_characters(whole.rstrip())
            tokens = self._tokenizer.count(content)
            head = content if tokens <= MAX_HEAD_TOKENS else cut_lines(content, MAX_HEAD_TOKENS, self._tokenizer)
            drafts.append(
                EntityDraft(
                    key=renamed[span.key],
                    kind=span.kind,
                    name=span.name,
                    names=span.names,
                    container=None if span.container is None else renamed[span.container],
                    language="",
                    content=content,
                    head=head,
                    token_count=tokens,
                    head_tokens=tokens if head is content else self._tokenizer.count(head),
                    line_start=span.line_start,
                    line_end=span.line_end,
                    cut=cut,
                )
            )
        return tuple(drafts)

    def _last(self, start: int, end: int) -> int:
        """Return the offset of the last character that is no white space."""
        while end > start + 1 and self._text[end - 1].isspace():
            end -= 1
        return end - 1

    def _key(self, wanted: str) -> str:
        """Return a unique key, numbered if taken: ``Session.user (2)``."""
        key = wanted
        while key in self._keys:
            self._keys[wanted] += 1
            key = f"{wanted} ({self._keys[wanted]})"
        self._keys[key] = 1
        return key

    def _head(self, content: str, *, lead: int, body: int) -> str:
        """Return the signature, above it what half of the rest takes of its comment, and the first lines after it."""
        comment, definition = content[:lead], content[lead:]
        if comment:
            room = MAX_HEAD_TOKENS - self._tokenizer.count(content[lead : max(lead, body)])
            comment = cut_lines(comment, room // 2, self._tokenizer) if room > 1 else ""
        definition = f"{comment.rstrip()}\n{definition}" if comment.strip() else definition
        return cut_lines(definition, MAX_HEAD_TOKENS, self._tokenizer)

    def _index_text(self, qualified: str, content: str) -> str:
        words = " ".join(_WORD.findall(qualified)).lower()
        return f"{self._path} {words}".rstrip() + "\n" + cut_lines(content, MAX_INDEX_TOKENS, self._tokenizer)


def cut_lines(text: str, limit: int, tokenizer: Tokenizer) -> str:
    """Return the first whole lines that have at most ``limit`` tokens; of a first line that has more, its beginning."""
    beginning = text[: limit * _LONGEST_TOKEN]
    lines = beginning.split("\n")
    if len(beginning) < len(text) and len(lines) > 1:
        lines.pop()
    elif tokenizer.count(beginning) <= limit:
        return beginning
    kept, used = 0, 0
    for line in lines:
        used += tokenizer.count(f"{line}\n")
        if used > limit + kept:
            break
        kept += 1
    while kept and tokenizer.count("\n".join(lines[:kept]).rstrip()) > limit:
        kept -= 1
    return "\n".join(lines[:kept]).rstrip() if kept else _cut_line(lines[0], limit, tokenizer)


def _cut_line(line: str, limit: int, tokenizer: Tokenizer) -> str:
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if tokenizer.count(line[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return line[:low]


def _cut_characters(text: str) -> tuple[str, bool]:
    """Return at most MAX_ENTITY_CHARACTERS, as whole lines where there are any, and whether that is less."""
    if len(text) <= MAX_ENTITY_CHARACTERS:
        return text, False
    end = text.rfind("\n", 0, MAX_ENTITY_CHARACTERS)
    return text[: end if end > 0 else MAX_ENTITY_CHARACTERS], True
