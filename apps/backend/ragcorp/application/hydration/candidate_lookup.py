"""Looks up candidates for the room that anchors leave: by similarity, or by words where nothing is similar enough."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import LexicalChunks
from ragcorp.domain.ports.structure import StructureIndex
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.lexical_scores import MIN_EVIDENCE_SHARE
from ragcorp.domain.structure.entities import EntityIdentity, EntityRef
from ragcorp.domain.structure.hydration import Channel, HydrationCandidate

SPARE = 2
"""Candidates that are asked for, by one that may be shown: some are too large for the room that is left."""

MOST_SIMILAR = 1000
MOST_CHUNKS = 50
"""Chunks in which the words of the query are looked for."""


class KeywordChunks(Protocol):
    """Finds chunks by words; each repository of documents does."""

    async def find_chunks_full_text(
        self, query: str, *, principal: Principal, filters: Filters = (), limit: int
    ) -> LexicalChunks:
        """Raises StorageUnavailableError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarFound:
    """What is similar: candidates, and the similarity of what is anchored anyway."""

    candidates: tuple[HydrationCandidate, ...]
    anchored: Mapping[EntityIdentity, float]


class CandidateLookup:
    """One call for similarity, two for words. What is anchored is no candidate."""

    def __init__(self, *, index: StructureIndex, keywords: KeywordChunks, threshold: float, entities: int) -> None:
        self._index = index
        self._keywords = keywords
        self._threshold = threshold
        self._entities = entities

    async def similar(
        self, embedding: Vector, *, anchored: Collection[EntityIdentity], principal: Principal, filters: Filters
    ) -> SimilarFound:
        """Return what is more similar than the threshold, best first. Raises StorageUnavailableError."""
        limit = min(MOST_SIMILAR, SPARE * self._entities + len(anchored))
        found = await self._index.similar(embedding, principal=principal, filters=filters, limit=limit)
        near = [each for each in found if each.score > self._threshold]
        return SimilarFound(
            candidates=tuple(
                HydrationCandidate(entity=each.entity, score=min(1.0, max(0.0, each.score)))
                for each in near
                if each.entity.identity not in anchored
            ),
            anchored={each.entity.identity: each.score for each in near if each.entity.identity in anchored},
        )

    async def by_words(
        self, query: str, *, anchored: Collection[EntityIdentity], principal: Principal, filters: Filters
    ) -> tuple[HydrationCandidate, ...]:
        """Return the entities of chunks that hold a fifth of the query's evidence or more, with the largest share.

        Only BM25 tells shares: with another ranking there are none. Raises StorageUnavailableError.
        """
        found = await self._keywords.find_chunks_full_text(
            query, principal=principal, filters=filters, limit=MOST_CHUNKS
        )
        shares = {
            hit.chunk_id: hit.evidence
            for hit in found.ranked_list
            if hit.chunk_id is not None and hit.evidence is not None and hit.evidence >= MIN_EVIDENCE_SHARE
        }
        if not shares:
            return ()
        standing = await self._index.at_chunks(list(shares), principal=principal, filters=filters)
        best: dict[EntityIdentity, tuple[float, EntityRef]] = {}
        for chunk_id, entities in standing.items():
            for entity in entities:
                share = shares[chunk_id]
                known = best.get(entity.identity)
                if entity.identity not in anchored and (known is None or known[0] < share):
                    best[entity.identity] = (share, entity)
        return tuple(
            HydrationCandidate(entity=entity, score=share, channel=Channel.KEYWORD) for share, entity in best.values()
        )
