"""The use cases of the knowledge graph, for all interfaces."""

from __future__ import annotations

from dataclasses import dataclass

from ragcorp.application.graph.delete import DeleteFromGraph
from ragcorp.application.graph.extract_facts import ExtractFacts
from ragcorp.application.graph.load import LoadGraph
from ragcorp.application.graph.read import ReadGraph
from ragcorp.application.graph.save_entities import SaveEntities
from ragcorp.application.graph.save_facts import SaveFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphUseCases:
    """Writing, reading, loading and extracting."""

    save_entities: SaveEntities
    save_facts: SaveFacts
    read: ReadGraph
    delete: DeleteFromGraph
    load: LoadGraph
    extract: ExtractFacts
