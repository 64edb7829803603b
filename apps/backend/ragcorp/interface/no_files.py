"""Searching and reading of files where no roots are allowed."""

from __future__ import annotations

from ragcorp.domain.exceptions import FileAccessDeniedError
from ragcorp.domain.files import FileText, GrepRequest, GrepResult
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal

NO_ROOTS = "No roots are allowed: set ALLOWED_PATHS."


class NoGrep:
    """Finds nothing, and says why."""

    async def execute(self, request: GrepRequest, *, principal: Principal, filters: Filters = ()) -> GrepResult:
        raise FileAccessDeniedError(NO_ROOTS)


class NoReading:
    """Reads nothing, and says why."""

    async def execute(
        self, path: str, *, principal: Principal, line_start: int | None = None, line_end: int | None = None
    ) -> FileText:
        raise FileAccessDeniedError(NO_ROOTS)
