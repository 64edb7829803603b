"""The whole schema: importing every module of tables registers them in ``metadata``."""

from ragcorp.infrastructure.postgres.tables import documents, folders, graph, items, keys, structure
from ragcorp.infrastructure.postgres.tables.columns import metadata

MODULES = (documents, items, graph, folders, structure, keys)

__all__ = ["MODULES", "metadata"]
