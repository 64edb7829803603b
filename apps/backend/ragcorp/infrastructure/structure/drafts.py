"""Turns the entities of code and text into drafts: heads, tokens, keys, and the embedded text."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ragcorp.domain.ports.structure import Tokenizer
from ragcorp.domain.structure.entities import MAX_ENTITY_CHARACTERS, MAX_HEAD_TOKENS, EntityDraft
from ragcorp.infrastructure.structure.code import CodeEntity
from ragcorp.infrastructure.structure.text_span import Lines, TextSpan, UniqueKeys

MAX_INDEX_TOKENS = 200
"""Of the embedded text of a symbol: some 256 of the local model, whose tokens of code are shorter."""
MIN_FILE_TOKENS = 8
"""Text of a file outside its symbols is embedded from this length on: ``package app`` is not distinctive."""

_LONGEST_TOKEN = 128
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")


class Drafts:
    """Writes the drafts of one document."""

    def __init__(self, text: str, *, path: str, tokenizer: Tokenizer) -> None:
        self._text = text
        self._path = path
        self._tokenizer = tokenizer

    def of_code(self, entities: Sequence[CodeEntity], *, language: str) -> tuple[EntityDraft, ...]:
        lines, unique = Lines(self._text), UniqueKeys()
        keys = [
            unique.of(f"{self._path}::{entity.qualified}" if entity.qualified else self._path) for entity in entities
        ]
        drafts = []
        for key, entity in zip(keys, entities, strict=True):
            draft = self._draft(
                entity,
                entity.content,
                key=key,
                container=None if entity.container is None else keys[entity.container],
                language=language,
                lines=(lines.index(entity.start) + 1, lines.index(self._last(entity.start, entity.end)) + 1),
            )
            is_embedded = language and (entity.qualified or draft.token_count >= MIN_FILE_TOKENS)
            index_text = self._index_text(entity.qualified, draft.content) if is_embedded else None
            drafts.append(replace(draft, calls=entity.calls, index_text=index_text))
        return tuple(drafts)

    def of_text(self, spans: Sequence[TextSpan]) -> tuple[EntityDraft, ...]:
        return tuple(
            self._draft(
                span,
                (self._text[span.start : span.end] if span.content is None else span.content).rstrip(),
                key=span.key,
                container=span.container,
                language="",
                lines=(span.line_start, span.line_end),
            )
            for span in spans
        )

    def _draft(
        self,
        entity: CodeEntity | TextSpan,
        whole: str,
        *,
        key: str,
        container: str | None,
        language: str,
        lines: tuple[int, int],
    ) -> EntityDraft:
        content, cut = _cut_characters(whole)
        tokens = self._tokenizer.count(content)
        head = content
        if tokens > MAX_HEAD_TOKENS:
            if isinstance(entity, CodeEntity):
                head = self._head(content, entity)
            else:
                head = cut_lines(content, MAX_HEAD_TOKENS, self._tokenizer)
        return EntityDraft(
            key=key,
            kind=entity.kind,
            name=entity.name,
            names=entity.names,
            container=container,
            language=language,
            content=content,
            head=head,
            token_count=tokens,
            head_tokens=tokens if head is content else self._tokenizer.count(head),
            line_start=lines[0],
            line_end=lines[1],
            cut=cut,
        )

    def _last(self, start: int, end: int) -> int:
        """Return the offset of the last character that is not white space."""
        while end > start + 1 and self._text[end - 1].isspace():
            end -= 1
        return end - 1

    def _head(self, content: str, entity: CodeEntity) -> str:
        """Return the signature, the beginning of its comment in half of the remaining tokens, and the first lines."""
        lead, body = entity.lead, entity.body
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
