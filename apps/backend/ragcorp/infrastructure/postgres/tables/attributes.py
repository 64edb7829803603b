"""The columns of DocumentAttributes, which documents, items, entities and facts have in common."""

from collections.abc import Sequence
from typing import Any

from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.principal import Sensitivity

_NAMES = ("language", "artifact_type", "sensitivity", "visibility_scope", "owner", "occurred_at", "metadata")


def attribute_columns(alias: str) -> str:
    """Return the select list that ``read_attributes`` reads."""
    return ", ".join(f"{alias}.{name}" for name in _NAMES)


def read_attributes(row: Sequence[Any], *, title: str = "", path: str | None = None) -> DocumentAttributes:
    """Return the attributes of a row of ``attribute_columns``."""
    language, artifact_type, sensitivity, visibility_scope, owner, occurred_at, metadata = row
    return DocumentAttributes(
        title=title,
        language=language,
        artifact_type=artifact_type,
        sensitivity=Sensitivity(sensitivity),
        visibility_scope=VisibilityScope(visibility_scope),
        owner=owner,
        occurred_at=occurred_at,
        path=path,
        metadata=metadata,
    )


def attribute_values(attributes: DocumentAttributes) -> dict[str, object]:
    """Return the values of the columns, by name and as JSON has them."""
    return {
        "language": attributes.language,
        "artifact_type": attributes.artifact_type,
        "sensitivity": int(attributes.sensitivity),
        "visibility_scope": str(attributes.visibility_scope),
        "owner": attributes.owner,
        "occurred_at": attributes.occurred_at.isoformat() if attributes.occurred_at else None,
        "metadata": dict(attributes.metadata),
    }
