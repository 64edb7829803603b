"""The retrieval source over the knowledge graph: facts around the entities that a query names or is near to."""

from dataclasses import dataclass

from ragcorp.domain.collections import GRAPH
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.filters import FACT_FIELDS
from ragcorp.domain.ports.graph import GraphSearch
from ragcorp.domain.ports.models import Embedder, embed_query
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery

EMBEDDER_OUT = "embedder_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSource:
    """Facts as passages. Without vectors, for an embedder that is out, the entities are looked up by name alone."""

    name = GRAPH
    collection = GRAPH
    filter_fields = FACT_FIELDS

    embedder: Embedder
    search: GraphSearch

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        embedding, incomplete = await self._embedded(query.text, query.principal.workspace)
        facts = await self.search.find_facts(
            query.text, embedding, principal=query.principal, filters=query.filters, limit=query.limit, now=query.now
        )
        return SourceAnswer(ranked_list=facts, incomplete=incomplete)

    async def _embedded(self, text: str, workspace: str) -> tuple[Vector | None, str | None]:
        if self.embedder.model.dimensions == 0:
            return None, None
        try:
            return await embed_query(self.embedder, text, workspace=workspace), None
        except EmbedderUnavailableError:
            return None, EMBEDDER_OUT
