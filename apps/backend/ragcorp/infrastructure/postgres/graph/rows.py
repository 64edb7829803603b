"""How entities and facts are read from their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.rows import TupleRow

from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.graph import Entity, Fact, FactEnd
from ragcorp.domain.principal import Sensitivity

ATTRIBUTES = (
    "{alias}.language, {alias}.artifact_type, {alias}.sensitivity, {alias}.visibility_scope, {alias}.owner, "
    "{alias}.occurred_at, {alias}.metadata"
)

ENTITY_ROWS = f"""
    SELECT e.id, e.external_id, e.name, e.aliases, e.description, e.declared,
           EXISTS (SELECT FROM entity_backlog b WHERE b.item_id = e.id), e.created_at, e.updated_at,
           {ATTRIBUTES.format(alias="e")}
    FROM entities e
    WHERE {{condition}}
    ORDER BY e.external_id
    LIMIT %(limit)s
"""

FACT_ROWS = f"""
    SELECT f.id, f.external_id, s.external_id, s.name, s.artifact_type, o.external_id, o.name, o.artifact_type,
           f.predicate, f.weight, f.valid_from, f.valid_to, d.external_id, f.chunk_id, c.chunk_index, f.extracted,
           f.quote, f.created_at, f.updated_at, {ATTRIBUTES.format(alias="f")}
    FROM facts f
    JOIN entities s ON s.id = f.subject_id
    JOIN entities o ON o.id = f.object_id
    LEFT JOIN documents d ON d.id = f.document_id
    LEFT JOIN chunks c ON c.id = f.chunk_id
    WHERE {{condition}}
    ORDER BY f.external_id
    LIMIT %(limit)s
"""


def entity(row: TupleRow) -> Entity:
    id_, external_id, name, aliases, description, declared, pending, created_at, updated_at, *described = row
    return Entity(
        id=str(id_),
        external_id=external_id,
        name=name,
        aliases=tuple(aliases),
        description=description,
        attributes=_attributes(described),
        declared=declared,
        pending=pending,
        created_at=created_at,
        updated_at=updated_at,
    )


def fact(row: TupleRow) -> Fact:
    (
        id_, external_id, subject_id, subject_name, subject_kind, object_id, object_name, object_kind, predicate,
        weight, valid_from, valid_to, document, chunk_id, chunk_index, extracted, quote,
        created_at, updated_at, *described,
    ) = row  # fmt: skip
    return Fact(
        id=str(id_),
        external_id=external_id,
        subject=FactEnd(external_id=subject_id, name=subject_name, kind=subject_kind),
        object=FactEnd(external_id=object_id, name=object_name, kind=object_kind),
        predicate=predicate,
        weight=weight,
        valid_from=valid_from,
        valid_to=valid_to,
        document=document,
        chunk_id=None if chunk_id is None else str(chunk_id),
        chunk_index=chunk_index,
        extracted=extracted,
        quote=quote,
        attributes=_attributes(described),
        created_at=created_at,
        updated_at=updated_at,
    )


def _attributes(row: Sequence[Any]) -> DocumentAttributes:
    language, artifact_type, sensitivity, visibility_scope, owner, occurred_at, metadata = row
    return DocumentAttributes(
        language=language,
        artifact_type=artifact_type,
        sensitivity=Sensitivity(sensitivity),
        visibility_scope=VisibilityScope(visibility_scope),
        owner=owner,
        occurred_at=occurred_at,
        metadata=metadata,
    )


def attribute_values(attributes: DocumentAttributes) -> dict[str, object]:
    """Return the columns of ``ATTRIBUTES`` as JSON carries them."""
    return {
        "language": attributes.language,
        "artifact_type": attributes.artifact_type,
        "sensitivity": int(attributes.sensitivity),
        "visibility_scope": str(attributes.visibility_scope),
        "owner": attributes.owner,
        "occurred_at": attributes.occurred_at.isoformat() if attributes.occurred_at else None,
        "metadata": dict(attributes.metadata),
    }
