"""In which documents a mention may be found: what a query asks of one file is not taken from another. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from ragcorp.application.structure.mentions.files import MentionedFile, MentionedFiles, short
from ragcorp.application.structure.mentions.shapes import Mention
from ragcorp.domain.structure.hydration import HydrationWarning, WarningCode

NUMBERED = ("clause:", "article:")

Scope = tuple[tuple[str, UUID | None], ...]
"""Files in the order of the query, as they are called, with their documents; None: there is no such file."""


class Scopes:
    """The files to which the words of a query bind its mentions.

    Clauses, headings and codes are bound by "of" and "in"; symbols by "of" alone, for what is used in a file may be
    defined in another. Clauses and headings that nothing binds belong to the texts (no code) that the query names and
    that nothing else is bound to.
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
        bound = {place for each in mentions for place in each.files}
        free = [each for each in self._strong if not each.file.is_code and (each.start, each.end) not in bound]
        self._left = _scope(free)

    def of(self, mention: Mention, name: str) -> Scope | None:
        """Return where a name of a mention may be found; None: anywhere."""
        if name.startswith("symbol:"):
            return self._bound(mention, self._strong) if mention.files and mention.owned else None
        if mention.files:
            return self._bound(mention, [*self._strong, *self._beside])
        elsewhere = name.startswith("identifier:") or mention.weak or mention.owned
        return None if elsewhere else self._left or None

    def _bound(self, mention: Mention, files: Sequence[MentionedFile]) -> Scope | None:
        found: dict[str, UUID | None] = {}
        for place in mention.files:
            found.update(_scope([each for each in files if (each.start, each.end) == place]))
            if place in self._unknown:
                found[self._unknown[place]] = None
        return tuple(found.items()) or None


def not_found(written: str, file: str, document_id: UUID | None) -> HydrationWarning:
    return HydrationWarning(
        code=WarningCode.NOT_FOUND,
        message=f"`{short(written)}` is not found in {short(file)}; no other is shown for it.",
        document_id=document_id,
    )


def _scope(files: Sequence[MentionedFile]) -> Scope:
    called = {each.file.path or each.file.external_id: each.file.document_id for each in files}
    return tuple(called.items())


def _overlaps(mention: Mention, file: MentionedFile) -> bool:
    return mention.start < file.end and file.start < mention.end
