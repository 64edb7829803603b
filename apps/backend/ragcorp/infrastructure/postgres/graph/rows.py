"""How entities and facts are read from their tables."""

from psycopg.rows import TupleRow

from ragcorp.domain.graph import Entity, Fact, FactEnd
from ragcorp.infrastructure.postgres.tables.attributes import attribute_columns, read_attributes

ENTITY_ROWS = f"""
    SELECT e.id, e.external_id, e.name, e.aliases, e.description, e.declared,
           EXISTS (SELECT FROM entity_backlog b WHERE b.item_id = e.id), e.created_at, e.updated_at,
           {attribute_columns("e")}
    FROM entities e
    WHERE {{condition}}
    ORDER BY e.external_id
    LIMIT %(limit)s
"""

FACT_ROWS = f"""
    SELECT f.id, f.external_id, s.external_id, s.name, s.artifact_type, o.external_id, o.name, o.artifact_type,
           f.predicate, f.weight, f.valid_from, f.valid_to, d.external_id, f.chunk_id, c.chunk_index, f.extracted,
           f.quote, f.created_at, f.updated_at, {attribute_columns("f")}
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
        attributes=read_attributes(described),
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
        attributes=read_attributes(described),
        created_at=created_at,
        updated_at=updated_at,
    )
