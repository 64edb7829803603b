"""Makes entities and facts from callers' input: names of one line, in NFC. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from ragcorp.application.validation.attribute_checks import (
    MAX_METADATA_BYTES,
    checked_attributes,
    in_utc,
    one_line,
    owned_attributes,
    prose,
    require_external_id,
)
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.graph import EntityDraft, EntityReference, FactDraft, Provenance
from ragcorp.domain.principal import Principal

Draft = TypeVar("Draft", EntityDraft, FactDraft)


def entity_draft(
    *,
    name: str,
    attributes: DocumentAttributes,
    external_id: str | None = None,
    aliases: Sequence[str] = (),
    description: str = "",
) -> EntityDraft:
    """Raises InvalidInputError. An alias that is named twice counts once."""
    return EntityDraft(
        name=one_line(name, field="name"),
        attributes=attributes,
        external_id=external_id,
        aliases=tuple(dict.fromkeys(one_line(alias, field="aliases") for alias in aliases)),
        description=prose(description, field="description").strip(),
    )


def reference(
    *, field: str, name: str | None = None, external_id: str | None = None, kind: str | None = None
) -> EntityReference:
    """Raises InvalidInputError."""
    return EntityReference(
        field=field, name=None if name is None else one_line(name, field=field), external_id=external_id, kind=kind
    )


def fact_draft(
    *,
    subject: EntityReference,
    object: EntityReference,  # noqa: A002 - a fact's own word
    predicate: str,
    attributes: DocumentAttributes,
    external_id: str | None = None,
    weight: float = 1.0,
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
    provenance: Provenance | None = None,
    quote: str = "",
) -> FactDraft:
    """Raises InvalidInputError. A time without a zone is taken to be in UTC."""
    return FactDraft(
        subject=subject,
        object=object,
        predicate=one_line(predicate, field="predicate"),
        attributes=attributes,
        external_id=external_id,
        weight=weight,
        valid_from=valid_from and in_utc(valid_from),
        valid_to=valid_to and in_utc(valid_to),
        provenance=provenance,
        quote=prose(quote, field="quote").strip(),
    )


def checked(draft: Draft, *, principal: Principal, max_metadata_bytes: int = MAX_METADATA_BYTES) -> Draft:
    """Return the draft with checked attributes and an owner. Raises InvalidInputError."""
    if draft.external_id is not None:
        require_external_id(draft.external_id)
    attributes = checked_attributes(draft.attributes, max_metadata_bytes=max_metadata_bytes)
    return replace(draft, attributes=owned_attributes(attributes, principal))
