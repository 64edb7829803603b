"""A partial change of an item or a document: what is not named stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Literal, TypeVar

from ragcorp.application.validation.item_drafts import item_draft
from ragcorp.domain.collections import Collection, Item, ItemDraft
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Sensitivity

_Value = TypeVar("_Value")


class Keep(Enum):
    """Stands for a value that stays."""

    KEEP = "keep"


KEEP: Literal[Keep.KEEP] = Keep.KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeChange:
    """New values of attributes. ``metadata`` is replaced as a whole; None takes a value away."""

    title: str | Keep = KEEP
    language: str | Keep = KEEP
    artifact_type: str | Keep = KEEP
    sensitivity: Sensitivity | Keep = KEEP
    visibility_scope: VisibilityScope | Keep = KEEP
    owner: str | Keep = KEEP
    occurred_at: datetime | Keep | None = KEEP
    path: str | Keep | None = KEEP
    metadata: Mapping[str, object] | Keep = KEEP

    def apply(self, attributes: DocumentAttributes) -> DocumentAttributes:
        return replace(
            attributes,
            title=kept(self.title, attributes.title),
            language=kept(self.language, attributes.language),
            artifact_type=kept(self.artifact_type, attributes.artifact_type),
            sensitivity=kept(self.sensitivity, attributes.sensitivity),
            visibility_scope=kept(self.visibility_scope, attributes.visibility_scope),
            owner=kept(self.owner, attributes.owner),
            occurred_at=kept(self.occurred_at, attributes.occurred_at),
            path=kept(self.path, attributes.path),
            metadata=kept(self.metadata, attributes.metadata),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """New values of an item of memory or history."""

    text: str | Keep = KEEP
    attributes: AttributeChange = AttributeChange()
    session: str | Keep | None = KEEP
    speaker: str | Keep | None = KEEP
    entities: Sequence[str] | Keep = KEEP

    def apply(self, item: Item, *, collection: Collection) -> ItemDraft:
        """Return the item as it is to be. Raises InvalidInputError, also for taking its time away."""
        if self.attributes.occurred_at is None:
            raise InvalidInputError(
                "An item has a time.", field="occurred_at", remedy="Give another time, or leave it out."
            )
        return item_draft(
            collection=collection,
            external_id=item.external_id,
            text=kept(self.text, item.text),
            attributes=self.attributes.apply(item.attributes),
            session=kept(self.session, item.session),
            speaker=kept(self.speaker, item.speaker),
            entities=kept(self.entities, item.entities),
        )


def kept(value: _Value | Keep, present: _Value) -> _Value:
    """Return the value, or the present one where it stays."""
    return present if isinstance(value, Keep) else value
