"""Partial changes of an item or a document: values that are not given stay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import Enum
from typing import Any, Literal, TypeVar

from ragcorp.application.validation.item_drafts import item_draft
from ragcorp.domain.collections import Collection, Item, ItemDraft
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Sensitivity

_Value = TypeVar("_Value")


class Keep(Enum):
    """Marks a value that does not change."""

    KEEP = "keep"


KEEP: Literal[Keep.KEEP] = Keep.KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeChange:
    """New values of attributes. ``metadata`` is replaced as a whole; None removes a value."""

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
        changes: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(attributes, **{name: value for name, value in changes.items() if value is not KEEP})


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """New values of an item of memory or history."""

    text: str | Keep = KEEP
    attributes: AttributeChange = AttributeChange()
    session: str | Keep | None = KEEP
    speaker: str | Keep | None = KEEP
    entities: Sequence[str] | Keep = KEEP

    def apply(self, item: Item, *, collection: Collection) -> ItemDraft:
        """Return the changed item. Raises InvalidInputError, also for removing its time."""
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
    """Return the new value, or the present one if it does not change."""
    return present if isinstance(value, Keep) else value
