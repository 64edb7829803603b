"""What every ItemRepository must do. A subclass gives ``collection``, ``repository`` and its ``backlog``."""

from __future__ import annotations

from support.conformance.item_repository_names import ItemNames
from support.conformance.item_repository_reads import ItemReads
from support.conformance.item_repository_turns import TurnsOfConversations
from support.conformance.item_repository_writes import ItemWrites


class ItemRepositoryConformance(ItemReads, ItemWrites, ItemNames, TurnsOfConversations):
    """All of its suites."""
