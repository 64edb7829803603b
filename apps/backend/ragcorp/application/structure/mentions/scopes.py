"""Limits each mention to the documents that it can refer to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from ragcorp.application.structure.mentions.files import MentionedFile, MentionedFiles, short
from ragcorp.application.structure.mentions.shapes import Mention
from ragcorp.domain.structure.hydration import HydrationWarning, WarningCode

NUMBERED = ("clause:", "article:")

Scope = tuple[tuple[str, UUID | None], ...]
"""Files in query order by name, with their documents; None for an unknown file."""


class Scopes:
    """The files that the words of a query bind its mentions to.

    "of" and "in" bind clauses, headings and codes. Symbols are bound by "of" only: a symbol used in a file may be
    defined in another. Unbound clauses and headings belong to the named texts (not code) that nothing else is bound to.
    """

    def __init__(self, mentions: Sequence[Mention], files: MentionedFiles) -> None:
        self._strong = files.strong
        self._beside = files.beside
        self._unknown = {
            mention.span_of(name): mention.written(name)
            for mention in mentions
            if mention.extension and not any(_overlaps(mention, file) for file in files.strong)
            for name in [max(mention.names, key=lambda name: mention.span_of(name)[0])]
        }
        bound = {place for mention in mentions for place in mention.files}
        free = [file for file in self._strong if not file.file.is_code and (file.start, file.end) not in bound]
        self._left = _scope(free)

    def of(self, mention: Mention, name: str) -> Scope | None:
        """Return the files where a name of a mention may be found, None for any."""
        if name.startswith("symbol:"):
            return self._bound(mention, self._strong) if mention.files and mention.owned else None
        if mention.files:
            return self._bound(mention, [*self._strong, *self._beside])
        elsewhere = name.startswith("identifier:") or mention.weak or mention.owned
        return None if elsewhere else self._left or None

    def _bound(self, mention: Mention, files: Sequence[MentionedFile]) -> Scope | None:
        scope: dict[str, UUID | None] = {}
        for place in mention.files:
            scope.update(_scope([file for file in files if (file.start, file.end) == place]))
            if place in self._unknown:
                scope[self._unknown[place]] = None
        return tuple(scope.items()) or None


def not_found(written: str, file: str, document_id: UUID | None) -> HydrationWarning:
    return HydrationWarning(
        code=WarningCode.NOT_FOUND,
        message=f"`{short(written)}` is not found in {short(file)}; no other is shown for it.",
        document_id=document_id,
    )


def _scope(files: Sequence[MentionedFile]) -> Scope:
    called = {file.file.path or file.file.external_id: file.file.document_id for file in files}
    return tuple(called.items())


def _overlaps(mention: Mention, file: MentionedFile) -> bool:
    return mention.start < file.end and file.start < mention.end
