"""Writes the entities of documents, in the transaction of the documents."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from ragcorp.domain.structure.entities import CODE_KINDS, DocumentStructure, EntityDraft
from ragcorp.domain.text.entity_names import file_name, is_empty, stem_name
from ragcorp.domain.text.place_words import WORD, place_words
from ragcorp.infrastructure.postgres.connections.database import DriverConnection
from ragcorp.infrastructure.postgres.connections.insert_rows import insert_rows
from ragcorp.infrastructure.postgres.embeddings.new_texts import reuse_or_enqueue
from ragcorp.infrastructure.postgres.tables.embedded import STRUCTURE

DELETE_STRUCTURES = "DELETE FROM structured_documents WHERE document_id = ANY(%(document_ids)s)"
"""Cascades to entities, vectors and backlog."""

DOCUMENT_COLUMNS = {
    "document_id": "uuid", "workspace": "text", "path": "text", "names": "text[]", "is_code": "bool",
    "fingerprint": "text", "artifact_hash": "bytea",
}  # fmt: skip

ENTITY_COLUMNS = {
    "document_id": "uuid", "workspace": "text", "entity_key": "text", "position": "int4", "kind": "text",
    "name": "text", "names": "text[]", "container": "text", "language": "text", "content": "text", "head": "text",
    "token_count": "int4", "head_tokens": "int4", "line_start": "int4", "line_end": "int4", "calls": "text[]",
    "index_text": "text", "content_hash": "bytea", "cut": "bool",
}  # fmt: skip

MAX_KEY_BYTES = 2000
"""An index entry, which includes the document's id, has at most some 2,700 bytes."""

KEPT_CHARACTERS = 400
"""Characters kept of a longer key, before its hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStructure:
    """The structure of a document whose row the caller has locked; ``artifact_hash`` is its content hash."""

    document_id: UUID
    workspace: str
    external_id: str
    path: str
    title: str
    artifact_hash: bytes
    structure: DocumentStructure


async def write_structures(connection: DriverConnection, stored: Sequence[StoredStructure]) -> None:
    """Swap the entities of documents, and enqueue them; a document without a fingerprint is extracted later."""
    document_ids = [document.document_id for document in stored]
    cursor = connection.cursor()
    await cursor.execute(DELETE_STRUCTURES, {"document_ids": document_ids})
    extracted = [document for document in stored if document.structure.fingerprint]
    if not extracted:
        return
    await insert_rows(
        cursor, "structured_documents", DOCUMENT_COLUMNS, [_document_row(document) for document in extracted]
    )
    rows = [
        (document.document_id, document.workspace, *_entity_row(entity, position))
        for document in extracted
        for position, entity in enumerate(document.structure.entities)
    ]
    await insert_rows(cursor, "structural_entities", ENTITY_COLUMNS, rows)
    if any(entity.index_text is not None for document in extracted for entity in document.structure.entities):
        await reuse_or_enqueue(cursor, STRUCTURE, document_ids)


def _document_row(stored: StoredStructure) -> tuple[object, ...]:
    path = stored.structure.path or stored.path
    names = dict.fromkeys(name(text) for text in (path, stored.external_id) for name in (file_name, stem_name))
    words = dict.fromkeys(word for text in (path, stored.external_id, stored.title) for word in place_words(text))
    return (
        stored.document_id,
        stored.workspace,
        path,
        [*(name for name in names if not is_empty(name)), *(f"{WORD}{word}" for word in words)],
        any(entity.kind in CODE_KINDS or entity.index_text is not None for entity in stored.structure.entities),
        stored.structure.fingerprint,
        stored.artifact_hash,
    )


def _entity_row(entity: EntityDraft, position: int) -> tuple[object, ...]:
    return (
        _stored_key(entity.key), position, entity.kind.value, entity.name, list(entity.names),
        None if entity.container is None else _stored_key(entity.container), entity.language, entity.content,
        entity.head, entity.token_count, entity.head_tokens, entity.line_start, entity.line_end, list(entity.calls),
        entity.index_text, None if entity.index_text is None else hashlib.sha256(entity.index_text.encode()).digest(),
        entity.cut,
    )  # fmt: skip


def _stored_key(key: str) -> str:
    """Return a key short enough for an index: a longer one is cut, and ends in its hash to stay unique."""
    if len(key.encode()) <= MAX_KEY_BYTES:
        return key
    return f"{key[:KEPT_CHARACTERS]}...{hashlib.sha256(key.encode()).hexdigest()[:32]}"
