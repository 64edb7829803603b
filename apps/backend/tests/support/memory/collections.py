"""Items and documents for the tests of the collections: written through the ports, asked through the channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ragcorp.domain.collections import Collection, ItemDraft
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.ports.storage import EmbeddingBacklog
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.collections.candidate_store import PostgresCandidateStore
from ragcorp.infrastructure.postgres.collections.channels import PostgresCollectionChannels
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.infrastructure.postgres.models.registry import active_model
from ragcorp.infrastructure.postgres.tables.collections import TABLES
from ragcorp.infrastructure.postgres.tables.embedded import HISTORY, MEMORY
from support.models.embedders import TEST_MODEL
from support.storage.postgres import repository_over, scan_of
from support.storage.stored import ANYONE, embed_all, written

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WITH_CHANNELS = (Collection.ARTIFACTS, Collection.MEMORY, Collection.HISTORY)


def drafted(
    external_id: str,
    text: str,
    *,
    session: str | None = None,
    speaker: str | None = None,
    entities: Sequence[str] = (),
    **attributes: Any,
) -> ItemDraft:
    described = {"artifact_type": "fact", "occurred_at": NOON} | attributes
    return ItemDraft(
        external_id=external_id,
        text=text,
        attributes=DocumentAttributes(**described),
        session=session,
        speaker=speaker,
        entities=tuple(entities),
    )


def backlog_of(database: Database, collection: Collection) -> EmbeddingBacklog:
    if collection in (Collection.ARTIFACTS, Collection.ARTIFACT_CHUNKS):
        return PostgresEmbeddingBacklog(database=database)
    return PostgresEmbeddingBacklog(database=database, table=MEMORY if collection is Collection.MEMORY else HISTORY)


async def channels_over(database: Database, collection: Collection, **options: Any) -> PostgresCollectionChannels:
    return PostgresCollectionChannels(database, table=TABLES[collection], scan=await scan_of(database), **options)


async def store_over(database: Database) -> PostgresCandidateStore:
    return PostgresCandidateStore(database, model=await active_model(database, configured=TEST_MODEL))


async def save(
    database: Database,
    collection: Collection,
    text: str,
    *,
    name: str,
    principal: Principal = ANYONE,
    **attributes: Any,
) -> None:
    """Store one text: a document of one chunk, or an item."""
    if collection in (Collection.ARTIFACTS, Collection.ARTIFACT_CHUNKS):
        repository = await repository_over(database)
        await repository.save_many([written(name, text, **attributes)], principal=principal)
    else:
        items = PostgresItemRepository(database=database, collection=collection)
        await items.save_many([drafted(name, text, **attributes)], principal=principal)


async def fill(
    database: Database,
    collection: Collection,
    texts: Mapping[str, Sequence[str]],
    vectors: Mapping[str, Vector] | None = None,
) -> None:
    """Store texts by workspace, in their order and named by their places, with their vectors (EAST unless given)."""
    for workspace, contents in texts.items():
        for number, content in enumerate(contents):
            await save(database, collection, content, name=f"{number:03}", principal=Principal(workspace=workspace))
    await embed_all(backlog_of(database, collection), vectors)
