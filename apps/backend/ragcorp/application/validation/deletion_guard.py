"""Refuses deletions that select a whole collection."""

from __future__ import annotations

from ragcorp.domain.collections import Collection
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import Filters, narrowed_to
from ragcorp.domain.text.checks import require_storable


def require_selection(prefix: str, filters: Filters, *, collection: Collection) -> None:
    """Raise InvalidInputError for a prefix that no name can have, and unless prefix or filters narrow the collection.

    Naming the collection itself narrows nothing.
    """
    require_storable(prefix, field="prefix")
    if not prefix and narrowed_to(filters, collection) == ():
        raise InvalidInputError(
            "A deletion needs a prefix or a filter.",
            field="prefix",
            remedy="Name a prefix of external_id, or at least one filter.",
        )
