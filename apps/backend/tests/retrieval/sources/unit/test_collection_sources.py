"""What the two sources of a collection ask their channels, and what they make of the answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ragcorp.application.retrieval.sources.chunks import VECTORS_PENDING
from ragcorp.application.retrieval.sources.collections import CollectionDenseSource, CollectionFullTextSource
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import ITEM_FIELDS, Filters
from ragcorp.domain.ports.sources import SourceQuery
from ragcorp.domain.ports.storage import SimilarChunks
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from support.models.embedders import HashingEmbedder
from support.storage.stored import where

pytestmark = pytest.mark.anyio

ME = Principal(subject="ana")
QUERY = SourceQuery(
    text="Goa", principal=ME, filters=where(session="s1"), limit=7, since=datetime(2026, 3, 1, tzinfo=UTC)
)
HITS = (Hit(item_id="3", collection="history", score=0.5),)


class Channels:
    """Notes what it is asked."""

    def __init__(self, *, seen: float = 1.0, cut: bool = False) -> None:
        self.asked: list[tuple[object, ...]] = []
        self._seen, self._cut = seen, cut

    async def similar(self, embedding: Vector, *, principal: Principal, filters: Filters, limit: int) -> SimilarChunks:
        self.asked.append((embedding, principal, filters, limit))
        ranked = RankedList(source="dense", score_type=ScoreType.COSINE_SIMILARITY, hits=HITS)
        return SimilarChunks(ranked_list=ranked, seen=self._seen)

    async def matching(
        self, query: str, *, principal: Principal, filters: Filters, limit: int, since: datetime | None = None
    ) -> tuple[RankedList, bool]:
        self.asked.append((query, principal, filters, limit, since))
        return RankedList(source="full_text", score_type=ScoreType.BM25, hits=HITS), self._cut


@pytest.mark.parametrize(("seen", "incomplete"), [(1.0, None), (0.4, VECTORS_PENDING), (0.0, VECTORS_PENDING)])
async def test_dense_asks_with_the_embedding_and_says_what_it_could_not_see(
    seen: float, incomplete: str | None
) -> None:
    channels, embedder = Channels(seen=seen), HashingEmbedder()
    source = CollectionDenseSource(
        name="history.dense", collection="history", embedder=embedder, channels=channels, filter_fields=ITEM_FIELDS
    )
    answer = await source.retrieve(QUERY)
    assert channels.asked == [(embedder.vector("Goa"), ME, QUERY.filters, 7)]
    assert (source.collection, source.filter_fields) == ("history", ITEM_FIELDS)
    assert (answer.ranked_list.source, answer.ranked_list.hits) == ("history.dense", HITS)
    assert (answer.seen, answer.incomplete, answer.cut) == (seen, incomplete, False)


@pytest.mark.parametrize("cut", [True, False])
async def test_full_text_looks_no_further_back_than_it_is_told(cut: bool) -> None:
    channels = Channels(cut=cut)
    source = CollectionFullTextSource(
        name="history.full_text", collection="history", channels=channels, filter_fields=ITEM_FIELDS
    )
    answer = await source.retrieve(QUERY)
    assert channels.asked == [("Goa", ME, QUERY.filters, 7, QUERY.since)]
    assert (source.collection, source.filter_fields) == ("history", ITEM_FIELDS)
    assert (answer.ranked_list.source, answer.ranked_list.score_type) == ("history.full_text", ScoreType.BM25)
    assert (answer.seen, answer.incomplete, answer.cut) == (1.0, None, cut)
