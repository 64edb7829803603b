"""Keyword arguments that describe stored things, shared by the methods that add and update them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict

from ragcorp.application.validation.item_changes import Keep
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.graph import Provenance
from ragcorp.domain.principal import Sensitivity


class GraphAttributes(TypedDict, total=False):
    """Language, readers and metadata; without them: the default language, the whole workspace, no metadata."""

    language: str | None
    sensitivity: Sensitivity
    visibility_scope: VisibilityScope
    owner: str
    metadata: Mapping[str, object] | None


class FactDetails(GraphAttributes, total=False):
    """Also weight (0 to 1), validity and evidence; a time without a zone is in UTC."""

    weight: float
    valid_from: datetime | None
    valid_to: datetime | None
    provenance: Provenance | None
    quote: str


class ItemAttributes(GraphAttributes, total=False):
    """Also type and time; without them: a fact or a turn, of now."""

    artifact_type: str | None
    occurred_at: datetime | None


class _AttributeChanges(TypedDict, total=False):
    artifact_type: str | Keep
    language: str | Keep
    sensitivity: Sensitivity | Keep
    visibility_scope: VisibilityScope | Keep
    owner: str | Keep
    metadata: Mapping[str, object] | Keep


class ItemAttributeChanges(_AttributeChanges, total=False):
    """New attributes of an item; ``metadata`` is replaced as a whole."""

    occurred_at: datetime | Keep


class DocumentAttributeChanges(_AttributeChanges, total=False):
    """New attributes of a document; None removes a time or a path, and a title of "" is found in the text again."""

    title: str | Keep
    occurred_at: datetime | Keep | None
    path: str | Keep | None


def attributes_of(options: GraphAttributes, *, kind: str, default_language: str) -> DocumentAttributes:
    """Return the attributes of ``options``, with defaults for the rest. Raises TypeError for an unknown name."""
    values: dict[str, Any] = {**options}
    values["artifact_type"] = kind
    values["language"] = options.get("language") or default_language
    values["metadata"] = options.get("metadata") or {}
    return DocumentAttributes(**values)
