"""Turns hydrated entities into passages that precede the search results. Pure."""

from collections.abc import Iterable, Iterator
from uuid import UUID

from ragcorp.domain.documents import Chunk
from ragcorp.domain.structure.hydration import HydratedEntity, Hydration


def hydrated_chunks(hydration: Hydration | None) -> tuple[Chunk, ...]:
    """Return the hydrated entities as passages in order; each is cited by the chunk in which it starts."""
    return () if hydration is None else tuple(_chunk(entity) for entity in hydration.entities)


def not_repeated(chunks: Iterable[Chunk], shown: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks whose text, but for white space, is not in the shown passages of their document."""
    parts: dict[UUID, list[Chunk]] = {}
    for passage in shown:
        parts.setdefault(passage.document_id, []).append(passage)
    shown_texts = {
        document: " ".join(_spaced(item.content) for item in sorted(of_document, key=lambda part: part.line_start))
        for document, of_document in parts.items()
    }
    for chunk in chunks:
        if _spaced(chunk.content) not in shown_texts.get(chunk.document_id, ""):
            yield chunk


def _chunk(hydrated: HydratedEntity) -> Chunk:
    entity, text = hydrated.planned.entity, hydrated.text
    return Chunk(
        id=text.chunk_id or entity.key,
        document_id=entity.document_id,
        external_id=entity.external_id,
        content=hydrated.shown,
        title=text.title,
        language=text.language,
        path=entity.path,
        line_start=entity.line_start,
        line_end=entity.line_end,
        sensitivity=text.sensitivity,
    )


def _spaced(text: str) -> str:
    return " ".join(text.split())
