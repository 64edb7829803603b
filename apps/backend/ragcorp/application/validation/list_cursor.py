"""Opaque cursors of lists: the last name of a page, and its kind."""

import base64
import binascii
from typing import TypeVar

from ragcorp.domain.documents import Page
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.text.checks import require_storable

MAX_PAGE = 200

Entry = TypeVar("Entry")


def require_page_size(limit: int) -> None:
    """Raise InvalidInputError for a page of no or too many entries."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInputError.out_of_range("limit", f"1 to {MAX_PAGE}", remedy="Follow next_cursor.")


def encode(name: str, *, kind: str = "name") -> str:
    return base64.urlsafe_b64encode(f"{kind}:{name}".encode()).decode().rstrip("=")


def decode(cursor: str, *, kind: str = "name") -> str:
    """Return the name. Raises InvalidInputError for a cursor that ``encode`` did not make for this kind."""
    try:
        decoded = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        require_storable(decoded, field="cursor")
    except (ValueError, binascii.Error, InvalidInputError):
        raise foreign_cursor() from None
    name = decoded.removeprefix(f"{kind}:")
    if not name or encode(name, kind=kind) != cursor:
        raise foreign_cursor()
    return name


def position(cursor: str | None) -> str | None:
    """Return the name after which a page starts, None for the first page. Raises what ``decode`` does."""
    return None if cursor is None else decode(cursor)


def next_cursor(page: Page[Entry, str]) -> str | None:
    """Return the cursor of the page after this one, if any."""
    return None if page.next_after is None else encode(page.next_after)


def foreign_cursor() -> InvalidInputError:
    return InvalidInputError(
        "The cursor is not one of this list.", field="cursor", remedy="Send next_cursor as it came, or none."
    )
