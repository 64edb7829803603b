"""Makes and checks items of memory and history; names unnamed ones by their content. Pure."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from ragcorp.application.validation.attribute_checks import (
    MAX_METADATA_BYTES,
    checked_attributes,
    one_line,
    owned_attributes,
    prose,
    require_external_id,
)
from ragcorp.domain.collections import Collection, ItemDraft, MemoryKind
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Principal

NAME_DIGITS = 32


def item_draft(
    *,
    collection: Collection,
    text: str,
    attributes: DocumentAttributes,
    external_id: str | None = None,
    session: str | None = None,
    speaker: str | None = None,
    entities: Sequence[str] = (),
) -> ItemDraft:
    """Return an item with clean texts (NFC, no control characters) and one-line names. Raises InvalidInputError."""
    kinds = list(MemoryKind)
    if collection is Collection.MEMORY and attributes.artifact_type not in kinds:
        raise InvalidInputError(
            "artifact_type is not a kind of memory.",
            field="artifact_type",
            limit=", ".join(kinds),
            remedy="Use one of the listed kinds.",
        )
    return ItemDraft(
        text=prose(text, field="text"),
        attributes=attributes,
        external_id=external_id,
        session=one_line(session or "", field="session") or None,
        speaker=one_line(speaker or "", field="speaker") or None,
        entities=tuple(dict.fromkeys(one_line(entity, field="entities") for entity in entities)),
    )


def checked_draft(draft: ItemDraft, *, principal: Principal, max_metadata_bytes: int = MAX_METADATA_BYTES) -> ItemDraft:
    """Check attributes and set the owner; an unnamed draft is named after its content. Raises InvalidInputError."""
    if draft.external_id is not None:
        require_external_id(draft.external_id)
    attributes = owned_attributes(
        checked_attributes(draft.attributes, max_metadata_bytes=max_metadata_bytes), principal
    )
    checked = replace(draft, attributes=attributes)
    if draft.external_id is not None or draft.named_after is not None:
        return checked
    return replace(checked, named_after=content_name(checked, principal=principal))


def content_name(draft: ItemDraft, *, principal: Principal, position: int = 0) -> str:
    """Return the first 32 hex digits of the SHA-256 over writer, session, speaker, time and text, and who may read it.

    ``position`` counts the equal items before it. The writer is included: a name that two writers share would reveal
    what one has hidden or deleted. The text can be guessed from the digest, which must be keyed before it is a name.
    """
    attributes = draft.attributes
    parts = [
        principal.subject,
        draft.session,
        draft.speaker,
        attributes.occurred_at.isoformat() if attributes.occurred_at else None,
        draft.text,
        attributes.artifact_type,
        int(attributes.sensitivity),
        attributes.visibility_scope,
        attributes.owner,
        position,
    ]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:NAME_DIGITS]
