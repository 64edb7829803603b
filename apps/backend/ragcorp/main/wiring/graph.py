"""Builds the knowledge graph: use cases and source."""

from ragcorp.application.graph.delete import DeleteFromGraph
from ragcorp.application.graph.extract_facts import ExtractFacts
from ragcorp.application.graph.load import LoadGraph
from ragcorp.application.graph.read import ReadGraph
from ragcorp.application.graph.save import SaveDrafts
from ragcorp.application.limits.token_budget import TokenBudget
from ragcorp.application.retrieval.sources.graph import GraphSource
from ragcorp.domain.graph import EntityDraft, FactDraft
from ragcorp.domain.ports.models import Embedder
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.graph.extractions import PostgresExtractionStore
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from ragcorp.infrastructure.postgres.graph.search import GraphSearchOptions, PostgresGraphSearch
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.interface.use_cases import GraphUseCases
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.base import Base
from ragcorp.main.wiring.models import make_extractor

SHARE_OF_DEADLINE = 0.8
"""The statement timeout as a share of the source's deadline, so that its connection is clean by then."""


def make_graph(base: Base, budget: TokenBudget) -> GraphUseCases:
    settings, database = base.settings, base.database
    extractor = make_extractor(settings, tokens=base.token_observers)
    if extractor is not None:
        base.closing(extractor)
    repository = PostgresGraphRepository(database=database)
    save_entities = SaveDrafts[EntityDraft](
        save=repository.save_entities, max_metadata_bytes=settings.max_metadata_bytes
    )
    save_facts = SaveDrafts[FactDraft](save=repository.save_facts, max_metadata_bytes=settings.max_metadata_bytes)
    return GraphUseCases(
        save_entities=save_entities,
        save_facts=save_facts,
        read=ReadGraph(repository=repository),
        delete=DeleteFromGraph(repository=repository),
        load=LoadGraph(entities=save_entities, facts=save_facts, default_language=settings.default_language),
        extract=ExtractFacts(
            extractor=extractor, store=PostgresExtractionStore(database=database), require_budget=budget.require
        ),
    )


def graph_source(settings: Settings, database: Database, embedder: Embedder, model: ActiveModel | None) -> GraphSource:
    search = PostgresGraphSearch(
        database=database,
        model=model,
        default_language=settings.default_language,
        options=GraphSearchOptions(
            similarity=settings.graph_similarity_threshold,
            timeout_ms=max(1, int(settings.source_timeout_seconds * 1000 * SHARE_OF_DEADLINE)),
        ),
    )
    return GraphSource(embedder=embedder, search=search)
