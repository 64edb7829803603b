"""Keyword options of the library's writing methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, TypedDict

from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.graph import Provenance
from ragcorp.domain.principal import Sensitivity

_ATTRIBUTES = frozenset(field.name for field in fields(DocumentAttributes))


class AttributeOptions(TypedDict, total=False):
    """Who may read an entry, its language (default: the service's), and its metadata."""

    language: str | None
    sensitivity: Sensitivity
    visibility_scope: VisibilityScope
    owner: str
    metadata: Mapping[str, object] | None


class ItemOptions(AttributeOptions, total=False):
    """Options of a memory or turn; without ``occurred_at`` a new item gets the current time."""

    external_id: str | None
    artifact_type: str | None
    occurred_at: datetime | None
    session: str | None
    speaker: str | None
    entities: Sequence[str]


class EntityOptions(AttributeOptions, total=False):
    external_id: str | None
    aliases: Sequence[str]
    description: str


class FactOptions(AttributeOptions, total=False):
    """Options of a fact; a time without a zone is in UTC."""

    external_id: str | None
    weight: float
    valid_from: datetime | None
    valid_to: datetime | None
    provenance: Provenance | None
    quote: str


class AttributeChanges(TypedDict, total=False):
    """New attributes; ``metadata`` is replaced as a whole."""

    language: str
    artifact_type: str
    sensitivity: Sensitivity
    visibility_scope: VisibilityScope
    owner: str
    occurred_at: datetime | None
    metadata: Mapping[str, object]


class ItemChanges(AttributeChanges, total=False):
    """New values of an item; ``entities`` are replaced as a whole."""

    text: str
    session: str | None
    speaker: str | None
    entities: Sequence[str]


class ArtifactChanges(AttributeChanges, total=False):
    """New values of a document; an empty title is derived from the text again."""

    title: str
    path: str | None


def split(options: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the attributes among the options, and the rest."""
    attributes = {name: value for name, value in options.items() if name in _ATTRIBUTES}
    return attributes, {name: value for name, value in options.items() if name not in _ATTRIBUTES}


def new_attributes(given: Mapping[str, Any], *, kind: str, language: str) -> DocumentAttributes:
    """Return the attributes of a new entry, with defaults for what is missing or None."""
    defaults = {"artifact_type": kind, "language": language, "metadata": {}}
    return DocumentAttributes(**{**given, **{name: given.get(name) or default for name, default in defaults.items()}})
