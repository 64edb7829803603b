"""What the suites of an ItemRepository share: its fixtures, and drafts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from ragcorp.domain.collections import Collection, ItemDraft, ItemSelection
from ragcorp.domain.documents import DocumentAttributes
from ragcorp.domain.ports.collections import ItemRepository
from ragcorp.domain.ports.storage import EmbeddingBacklog
from ragcorp.domain.principal import Principal
from support.storage.stored import ANYONE

OTHER = Principal(workspace="other")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def draft(
    external_id: str | None,
    text: str = "La clave de la puerta está en el cajón.",
    *,
    session: str | None = None,
    speaker: str | None = None,
    entities: Sequence[str] = (),
    **attributes: Any,
) -> ItemDraft:
    return ItemDraft(
        external_id=external_id,
        text=text,
        attributes=DocumentAttributes(**{"artifact_type": "fact", **attributes}),
        session=session,
        speaker=speaker,
        entities=tuple(entities),
    )


class StoredItems:
    collection: Collection

    @pytest.fixture
    async def repository(self) -> ItemRepository:
        raise NotImplementedError

    @pytest.fixture
    async def backlog(self) -> EmbeddingBacklog:
        """The backlog over the same items, for vectors of ``support.embedders.TEST_MODEL``."""
        raise NotImplementedError

    async def names(self, repository: ItemRepository, principal: Principal = ANYONE, **selection: Any) -> list[str]:
        page = await repository.list_page(ItemSelection(**selection), principal=principal, limit=500)
        assert page.next_after is None
        return [item.external_id for item in page.items]
