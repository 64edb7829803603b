"""Use case: list documents and read one."""

from dataclasses import dataclass

from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.application.validation.list_cursor import next_cursor, position, require_page_size
from ragcorp.domain.documents import Document, SourceFile
from ragcorp.domain.ports.storage import DocumentSelection, DocumentStore
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import require_storable


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDocuments:
    """Pages through documents in the order of ``external_id``; a page is stable under writes elsewhere."""

    store: DocumentStore

    async def list(
        self, selection: DocumentSelection, *, principal: Principal, limit: int = 50, cursor: str | None = None
    ) -> tuple[tuple[Document, ...], str | None]:
        """Return a page and the cursor of the next one. Raises InvalidInputError for a bad limit, prefix or cursor."""
        require_page_size(limit)
        require_storable(selection.prefix, field="prefix")
        page = await self.store.list_page(selection, principal=principal, limit=limit, after=position(cursor))
        return page.items, next_cursor(page)

    async def get(self, external_id: str, *, principal: Principal) -> Document:
        """Raises NotFoundError or InvalidInputError."""
        require_external_id(external_id)
        return await self.store.get(external_id, principal=principal)

    async def get_source(self, external_id: str, *, principal: Principal) -> SourceFile:
        """Return the original as it was sent. Raises what ``get`` does."""
        require_external_id(external_id)
        return await self.store.get_source(external_id, principal=principal)
