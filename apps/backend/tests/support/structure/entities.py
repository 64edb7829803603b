"""Entities for tests of their storage: worked out by hand, written with the documents that they are spans of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragcorp.domain.documents import ChunkDraft
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.structure.entities import CODE_KINDS, DocumentStructure, EntityDraft, EntityKind
from ragcorp.domain.text.entity_names import symbol_name
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.structure.index import PostgresStructureIndex
from support.models.embedders import TEST_MODEL
from support.storage.postgres import scan_of
from support.storage.stored import written

FINGERPRINT = "test-1"


def entity(key: str, kind: EntityKind = EntityKind.FUNCTION, **given: Any) -> EntityDraft:
    """Return an entity on one line; a symbol is named by the end of its key, is Python, and has an own vector."""
    name = given.pop("name", key.rpartition("::")[2].rpartition("#")[2])
    symbol = kind in CODE_KINDS
    content = given.pop("content", f"text of {key}")
    line = given.pop("line", 1)
    values: dict[str, Any] = {
        "names": (symbol_name(name),) if symbol else (),
        "container": None,
        "language": "python" if symbol else "",
        "head": content,
        "token_count": 10,
        "head_tokens": 5,
        "line_start": line,
        "line_end": line,
        "index_text": content if symbol else None,
    }
    return EntityDraft(key=key, kind=kind, name=name, content=content, **(values | given))


def structured(write: DocumentWrite, *entities: EntityDraft, fingerprint: str = FINGERPRINT) -> DocumentWrite:
    path = write.attributes.path or write.external_id
    return replace(write, structure=DocumentStructure(fingerprint=fingerprint, path=path, entities=entities))


def code(path: str, *symbols: str, salt: str = "", **attributes: Any) -> DocumentWrite:
    """Return a Python file of functions, each on a line of its own."""
    drafts = [
        entity(f"{path}::{name}", line=number, content=f"def {name} in {path}")
        for number, name in enumerate(symbols, start=1)
    ]
    content = "\n".join(f"def {name}(): ..." for name in symbols) or "pass"
    return structured(written(path, content, salt=salt, **attributes), *drafts)


def chunked(write: DocumentWrite, spans: Sequence[tuple[int, int, str]]) -> DocumentWrite:
    """Return the write with chunks of given first and last lines and contents, one for each of its own."""
    chunks = [
        ChunkDraft(
            chunk_index=index, content=content, heading_path=(), line_start=first, line_end=last,
            page_start=None, page_end=None, token_count=1,
        )
        for index, (first, last, content) in enumerate(spans)
    ]  # fmt: skip
    return replace(write, chunks=tuple(chunks))


async def index_over(database: Database, *, model: EmbeddingModel | None = TEST_MODEL) -> PostgresStructureIndex:
    return PostgresStructureIndex(database, scan=await scan_of(database, model=model) if model else None)
