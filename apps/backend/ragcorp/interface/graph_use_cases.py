"""The use cases of the knowledge graph, for all interfaces."""

from __future__ import annotations

from dataclasses import dataclass

from ragcorp.application.graph.delete import DeleteFromGraph
from ragcorp.application.graph.extract_facts import ExtractFacts
from ragcorp.application.graph.load import LoadGraph
from ragcorp.application.graph.read import ReadGraph
from ragcorp.application.graph.save import SaveDrafts
from ragcorp.domain.graph import EntityDraft, FactDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphUseCases:
    """Writing, reading, loading and extracting."""

    save_entities: SaveDrafts[EntityDraft]
    save_facts: SaveDrafts[FactDraft]
    read: ReadGraph
    delete: DeleteFromGraph
    load: LoadGraph
    extract: ExtractFacts
