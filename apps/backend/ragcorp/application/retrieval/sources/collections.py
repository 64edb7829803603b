"""The two retrieval sources over the items of a collection: dense by embedding, sparse by full text."""

from dataclasses import dataclass, replace

from ragcorp.application.retrieval.sources.chunks import VECTORS_PENDING
from ragcorp.domain.ports.collections import CollectionChannels
from ragcorp.domain.ports.models import Embedder, embed_query
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionDenseSource:
    """Nearest items by cosine similarity. The model runs before a connection is taken."""

    name: str
    collection: str
    embedder: Embedder
    channels: CollectionChannels
    filter_fields: frozenset[str]

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        embedding = await embed_query(self.embedder, query.text, workspace=query.principal.workspace)
        similar = await self.channels.similar(
            embedding, principal=query.principal, filters=query.filters, limit=query.limit
        )
        return SourceAnswer(
            ranked_list=replace(similar.ranked_list, source=self.name),
            incomplete=VECTORS_PENDING if similar.seen < 1 else None,
            seen=similar.seen,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionFullTextSource:
    """Items that hold words of the query, by BM25; of those that occurred since the query's bound, if it has one."""

    name: str
    collection: str
    channels: CollectionChannels
    filter_fields: frozenset[str]

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        ranked_list, cut = await self.channels.matching(
            query.text, principal=query.principal, filters=query.filters, limit=query.limit, since=query.since
        )
        return SourceAnswer(ranked_list=ranked_list.with_hits(ranked_list.hits, source=self.name), cut=cut)
