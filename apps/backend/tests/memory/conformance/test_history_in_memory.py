"""The history that tests of conversations keep in memory, as what they take it for."""

from __future__ import annotations

from typing import Any

import pytest

from ragcorp.domain.collections import Collection
from support.conformance.item_repository_turns import TurnsOfConversations
from support.memory.conversations import InMemoryHistory

pytestmark = pytest.mark.anyio


class TestInMemoryHistory(TurnsOfConversations):
    collection = Collection.HISTORY

    @pytest.fixture
    async def repository(self) -> Any:
        return InMemoryHistory()
