"""The retrieval source over the structure of documents: chunks with the start of an entity that a query names."""

from dataclasses import dataclass

from ragcorp.application.structure.anchor_lookup import AnchorLookup
from ragcorp.application.structure.mentions.parsing import mentions
from ragcorp.domain.filters import DOCUMENT_FIELDS
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.ports.structure import StructureIndex
from ragcorp.domain.retrieval import CHUNK_COLLECTION, Hit, RankedList, ScoreType


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureSource:
    """Anchors in the order of hydration (ADR-040), without episodes. The score is priority / 100; one hit per chunk."""

    name = "structure"
    collection = CHUNK_COLLECTION
    filter_fields = DOCUMENT_FIELDS

    index: StructureIndex
    anchors: AnchorLookup

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        anchored = await self.anchors.find(mentions(query.text), principal=query.principal, filters=query.filters)
        anchors = anchored.anchors[: query.limit]
        texts = (
            await self.index.texts([anchor.entity.id for anchor in anchors], principal=query.principal)
            if anchors
            else {}
        )
        hits: dict[str, Hit] = {}
        for anchor in anchors:
            text = texts.get(anchor.entity.id)
            if text is not None and text.chunk_id is not None:
                hits.setdefault(text.chunk_id, Hit(chunk_id=text.chunk_id, score=anchor.priority / 100))
        return SourceAnswer(
            ranked_list=RankedList(source=self.name, score_type=ScoreType.ANCHOR, hits=tuple(hits.values()))
        )
