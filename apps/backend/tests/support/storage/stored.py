"""Documents for storage tests: written through the port, with vectors that are worked out by hand."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ragcorp.domain.documents import ChunkDraft, DocumentAttributes, ParsedText, SourceFile, index_text
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import DocumentRepository, DocumentWrite, EmbeddingBacklog
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import HitKey, RankedList
from ragcorp.interface.request_values import parse_filters
from support.models.embedders import TEST_MODEL

ANYONE = Principal()
EAST: Vector = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def towards(cosine: float) -> Vector:
    """Return a unit vector whose cosine with EAST is ``cosine``."""
    return (cosine, math.sqrt(1.0 - cosine * cosine), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def where(**filters: object) -> Filters:
    return parse_filters(filters)


def written(
    external_id: str, *contents: str, chunker: str = "test", salt: str = "", title: str = "", **attributes: Any
) -> DocumentWrite:
    """Return a write with one chunk a content; ``salt`` makes another version of the same text."""
    described = DocumentAttributes(title=title, path=external_id, **attributes)
    text = "\n\n".join(contents)
    return DocumentWrite(
        external_id=external_id,
        attributes=described,
        parsed=ParsedText(text=text),
        source=SourceFile(content=text.encode(), media_type="text/plain", filename=external_id),
        content_hash=hashlib.sha256(repr((contents, salt, described)).encode()).digest(),
        chunker=chunker,
        chunks=tuple(
            ChunkDraft(
                chunk_index=index,
                content=content,
                heading_path=(),
                line_start=index * 2 + 1,
                line_end=index * 2 + 1,
                page_start=None,
                page_end=None,
                token_count=len(content.split()),
            )
            for index, content in enumerate(contents)
        ),
        index_hashes=tuple(
            hashlib.sha256(index_text(title=title, heading_path=(), content=content).encode()).digest()
            for content in contents
        ),
    )


async def embed_all(
    backlog: EmbeddingBacklog,
    vectors: Mapping[str, Vector] | None = None,
    *,
    default: Vector = EAST,
    model: EmbeddingModel = TEST_MODEL,
) -> int:
    """Give each waiting chunk the vector of its content and return how many there were."""
    done = 0
    while batch := await backlog.claim(limit=500, lease_seconds=60):
        existing = vectors or {}
        await backlog.complete({item: existing.get(item.index_text, default) for item in batch}, model=model)
        done += len(batch)
    return done


def ids(hits: Sequence[Any]) -> list[str | None]:
    return [hit.chunk_id for hit in hits]


def keys(hits: Sequence[Any]) -> list[HitKey]:
    return [hit.key for hit in hits]


async def full_text(
    repository: DocumentRepository, query: str, *, principal: Principal, filters: Filters = (), limit: int
) -> RankedList:
    """Return the sparse ranking alone."""
    result = await repository.find_chunks_full_text(query, principal=principal, filters=filters, limit=limit)
    return result.ranked_list
