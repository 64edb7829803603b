"""Null object for a search without a database: no file is linked to a stored document."""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.file_search import FileLines, KnownLines
from ragcorp.domain.principal import Principal


class NoFileDocuments:
    """A ``FileDocuments`` that knows nothing, for a user's files on the user's own machine."""

    async def known(
        self,
        lines: Sequence[FileLines],
        *,
        principal: Principal,  # noqa: ARG002
        filters: Filters = (),  # noqa: ARG002
    ) -> list[KnownLines]:
        return [KnownLines() for _ in lines]
