"""Entities and facts for tests, written through the port."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.graph import (
    ENTITY,
    FACT,
    EntityDraft,
    EntityReference,
    FactDraft,
    GraphSelection,
    Provenance,
    Readers,
    entity_name,
)
from ragcorp.domain.ports.graph import GraphRepository, GraphSearch
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.graph.search import GraphSearchOptions, PostgresGraphSearch
from ragcorp.infrastructure.postgres.models.registry import active_model
from support.models.embedders import TEST_MODEL
from support.storage.stored import ANYONE


def entity(
    name: str,
    *,
    kind: str = ENTITY,
    aliases: tuple[str, ...] = (),
    description: str = "",
    external_id: str | None = None,
    **attributes: Any,
) -> EntityDraft:
    return EntityDraft(
        name=name,
        external_id=external_id,
        aliases=aliases,
        description=description,
        attributes=DocumentAttributes(artifact_type=kind, **attributes),
    )


def named(folded_name: str, *, kind: str = ENTITY, **attributes: Any) -> str:
    """Return the external_id of an entity that was given none."""
    readers = Readers.of(DocumentAttributes(**attributes))
    return entity_name(kind=kind, folded_name=folded_name, readers=readers)


def said(
    subject: str,
    predicate: str,
    object: str,  # noqa: A002 - a fact's own word
    *,
    external_id: str | None = None,
    weight: float = 1.0,
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
    provenance: Provenance | None = None,
    **attributes: Any,
) -> FactDraft:
    """Return the fact that ``subject`` (a name) stands so to ``object``."""
    attributes.setdefault("artifact_type", FACT)
    return FactDraft(
        subject=EntityReference(name=subject, field="subject"),
        object=EntityReference(name=object, field="object"),
        predicate=predicate,
        external_id=external_id,
        weight=weight,
        valid_from=valid_from,
        valid_to=valid_to,
        provenance=provenance,
        attributes=DocumentAttributes(**attributes),
    )


def day(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def reader(clearance: Sensitivity, *, subject: str = "ana", groups: frozenset[str] = frozenset()) -> Principal:
    return Principal(subject=subject, groups=groups, clearance=clearance)


async def graph_search(
    database: Database, *, model: EmbeddingModel | None = TEST_MODEL, **options: Any
) -> PostgresGraphSearch:
    return PostgresGraphSearch(
        database=database, model=await active_model(database, configured=model), options=GraphSearchOptions(**options)
    )


async def found(
    search: GraphSearch,
    repository: GraphRepository,
    query: str,
    *,
    embedding: Vector | None = None,
    principal: Principal = ANYONE,
    limit: int = 100,
    **options: Any,
) -> Mapping[str, float]:
    """Return what a look finds, in its order: score by the text of the fact."""
    ranked = await search.find_facts(query, embedding, principal=principal, limit=limit, **options)
    texts: dict[str, str] = {}
    after = None
    while True:
        page = await repository.list_facts(GraphSelection(), principal=principal, limit=200, after=after)
        texts |= {fact.id: fact.text for fact in page.items}
        if (after := page.next_after) is None:
            break
    return {texts[str(hit.item_id)]: hit.score for hit in ranked.hits}
