"""The whole schema: every module of tables is imported here, so that ``metadata`` knows them all."""

from __future__ import annotations

from ragcorp.infrastructure.postgres import (
    folder_tables,
    graph_tables,
    item_tables,
    key_tables,
    structure_tables,
    tables,
)

MODULES = (tables, item_tables, graph_tables, folder_tables, structure_tables, key_tables)

metadata = tables.metadata
