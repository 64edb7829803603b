"""Looks up candidates by similarity or by keywords."""

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
"""Candidates fetched for each one that may be shown: some are too large for the budget."""

MOST_SIMILAR = 1000
MOST_CHUNKS = 50
"""Maximum chunks of a keyword lookup."""


class KeywordChunks(Protocol):
    """Finds chunks by full text."""

    async def find_chunks_full_text(
        self, query: str, *, principal: Principal, filters: Filters = (), limit: int
    ) -> LexicalChunks:
        """Raises StorageUnavailableError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarFound:
    """Similar candidates, and the similarity of anchored entities."""

    candidates: tuple[HydrationCandidate, ...]
    anchored: Mapping[EntityIdentity, float]


class CandidateLookup:
    """One port call for similarity, two for keywords. Anchored entities are no candidates."""

    def __init__(self, *, index: StructureIndex, keywords: KeywordChunks, threshold: float, entities: int) -> None:
        self._index = index
        self._keywords = keywords
        self._threshold = threshold
        self._entities = entities

    async def similar(
        self, embedding: Vector, *, anchored: Collection[EntityIdentity], principal: Principal, filters: Filters
    ) -> SimilarFound:
        """Return the entities above the similarity threshold, best first. Raises StorageUnavailableError."""
        limit = min(MOST_SIMILAR, SPARE * self._entities + len(anchored))
        found = await self._index.similar(embedding, principal=principal, filters=filters, limit=limit)
        near = [entry for entry in found if entry.score > self._threshold]
        return SimilarFound(
            candidates=tuple(
                HydrationCandidate(entity=entry.entity, score=min(1.0, max(0.0, entry.score)))
                for entry in near
                if entry.entity.identity not in anchored
            ),
            anchored={entry.entity.identity: entry.score for entry in near if entry.entity.identity in anchored},
        )

    async def by_words(
        self, query: str, *, anchored: Collection[EntityIdentity], principal: Principal, filters: Filters
    ) -> tuple[HydrationCandidate, ...]:
        """Return the entities of chunks with at least a fifth of the query's evidence, scored by the largest share.

        Only BM25 gives shares; other rankings find nothing here. Raises StorageUnavailableError.
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
