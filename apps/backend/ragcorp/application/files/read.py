"""Use case: read a file below the allowed roots, or lines of it."""

from dataclasses import dataclass

from ragcorp.domain.exceptions import FileNotFoundInRootsError
from ragcorp.domain.files.values import FileAccess, FileText, denied
from ragcorp.domain.ports.file_search import FileDocuments, FileLines, FileRepository
from ragcorp.domain.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """Reads files for callers whom ``access`` admits. Storage is checked first: no error reveals withheld content."""

    files: FileRepository
    documents: FileDocuments
    access: FileAccess

    async def read(
        self, path: str, *, principal: Principal, line_start: int | None = None, line_end: int | None = None
    ) -> FileText:
        """Return lines (from 1) or all. Raises a FileAccessError, InvalidInputError or StorageUnavailableError."""
        if not self.access.allows(principal):
            raise denied(())
        names = await self.files.names(path)
        [stored] = await self.documents.look_up([FileLines(names=names)], principal=principal)
        if not stored.readable:
            raise denied(self.files.roots)
        text = await self.files.read(names[0], line_start=line_start, line_end=line_end)
        if text.path != names[0]:
            raise FileNotFoundInRootsError("The file was replaced while it was read.", remedy="Read it again.")
        return text
