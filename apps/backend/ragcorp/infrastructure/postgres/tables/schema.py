"""The whole schema: every module of tables is imported here, so that ``metadata`` knows them all."""

from __future__ import annotations

from ragcorp.infrastructure.postgres.tables import documents as tables
from ragcorp.infrastructure.postgres.tables import folders as folder_tables
from ragcorp.infrastructure.postgres.tables import graph as graph_tables
from ragcorp.infrastructure.postgres.tables import items as item_tables
from ragcorp.infrastructure.postgres.tables import keys as key_tables
from ragcorp.infrastructure.postgres.tables import structure as structure_tables

MODULES = (tables, item_tables, graph_tables, folder_tables, structure_tables, key_tables)

metadata = tables.metadata
