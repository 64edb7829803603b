"""Use case: list documents and read one."""

from __future__ import annotations

import base64
import binascii

from ragcorp.application.document_preparation import require_external_id
from ragcorp.domain.documents import Document, SourceFile
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.storage import DocumentRepository, DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.domain.text import require_storable

MAX_PAGE = 200


class ListDocuments:
    """Pages through documents in the order of ``external_id``; a page is stable under writes elsewhere."""

    def __init__(self, *, repository: DocumentRepository) -> None:
        self._repository = repository

    async def execute(
        self, selection: DocumentSelection, *, principal: Principal, limit: int = 50, cursor: str | None = None
    ) -> tuple[tuple[Document, ...], str | None]:
        """Return a page and the cursor of the next one. Raises InvalidInputError for a bad limit, prefix or cursor."""
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidInputError(
                "limit is out of range.", field="limit", limit=f"1 to {MAX_PAGE}", remedy="Follow next_cursor."
            )
        require_storable(selection.prefix, field="prefix")
        page = await self._repository.list_page(
            selection, principal=principal, limit=limit, after=_decode(cursor) if cursor is not None else None
        )
        return page.documents, _encode(page.next_after) if page.next_after is not None else None

    async def get(self, external_id: str, *, principal: Principal) -> Document:
        """Raises NotFoundError, or InvalidInputError for what can name no document."""
        require_external_id(external_id)
        return await self._repository.get(external_id, principal=principal)

    async def get_source(self, external_id: str, *, principal: Principal) -> SourceFile:
        """Return the original as it was sent. Raises what ``get`` does."""
        require_external_id(external_id)
        return await self._repository.get_source(external_id, principal=principal)


def _encode(external_id: str) -> str:
    return base64.urlsafe_b64encode(external_id.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        after = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        require_storable(after, field="cursor")
    except (ValueError, binascii.Error, InvalidInputError):
        raise InvalidInputError(
            "The cursor is not one of this list.", field="cursor", remedy="Send next_cursor as it came, or none."
        ) from None
    return after
