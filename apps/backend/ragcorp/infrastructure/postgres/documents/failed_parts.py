"""Keeps the stored parts of a document that could not be read again, inside the transaction that saves it."""

import hashlib
from uuid import UUID

from psycopg.types.json import Jsonb

from ragcorp.domain.files.source_paths import metadata_of_part
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.tables.attributes import attribute_values

STORED_PARTS = """
    SELECT f.external_id, p.id, substr(p.external_id, length(f.external_id) + 2)
    FROM unnest(%(external_ids)s::text[], %(hashes)s::bytea[]) AS failed (external_id, source_hash)
    JOIN documents f ON f.external_id = failed.external_id AND f.part_of = %(document_id)s
    JOIN document_sources s ON s.document_id = f.id AND sha256(s.content) = failed.source_hash
    JOIN documents p ON p.part_of = f.part_of AND (p.id = f.id OR starts_with(p.external_id, f.external_id || '/'))
    WHERE NOT p.external_id = ANY(%(written)s)
    ORDER BY f.external_id, p.external_id
"""
"""The failed parts whose bytes are the same, and the parts inside them, with their names below these."""

_ATTRIBUTES = """language = %(language)s, artifact_type = %(artifact_type)s, sensitivity = %(sensitivity)s,
        visibility_scope = %(visibility_scope)s, owner = %(owner)s, occurred_at = %(occurred_at)s"""

UPDATE_PART = f"""
    UPDATE documents
    SET {_ATTRIBUTES}, metadata = %(metadata)s, content_hash = sha256(content_hash), updated_at = now()
    WHERE id = %(id)s
"""
"""Another content hash: the part is written anew as soon as it can be read again."""

UPDATE_CHUNKS = f"UPDATE chunks SET {_ATTRIBUTES} WHERE document_id = %(id)s"


async def keep_failed(connection: DriverConnection, write: DocumentWrite, document_id: UUID) -> list[UUID]:
    """Give the stored documents of files that could not be read the attributes of this write; return their ids."""
    requests = {request.external_id: request for request in write.failed}
    if not requests:
        return []
    found = await connection.execute(
        STORED_PARTS,
        {
            "document_id": document_id,
            "external_ids": list(requests),
            "hashes": [hashlib.sha256(request.file.content).digest() for request in requests.values()],
            "written": [part.external_id for part in write.parts],
        },
    )
    kept: dict[UUID, dict[str, object]] = {}
    for external_id, part_id, name in await found.fetchall():
        attributes = requests[external_id].attributes
        metadata = metadata_of_part(attributes.metadata, name) if name else dict(attributes.metadata)
        kept[part_id] = attribute_values(attributes) | {"id": part_id, "metadata": Jsonb(metadata)}
    cursor = connection.cursor()
    for statement in (UPDATE_PART, UPDATE_CHUNKS):
        await cursor.executemany(statement, list(kept.values()))
    return list(kept)
