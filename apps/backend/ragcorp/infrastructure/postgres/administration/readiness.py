"""Reads what a search requires of the database, in one statement."""

from ragcorp.domain.diagnosis import SearchFacts
from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.infrastructure.postgres.administration.migrations import VERSION
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.connections.indexes import INVALID_INDEXES_IN_USE

LOOK = f"""
    SELECT ({VERSION}),
        ARRAY(SELECT dimensions FROM embedding_models WHERE name = %(name)s),
        ARRAY({INVALID_INDEXES_IN_USE})::text[],
        EXISTS (SELECT 1 FROM pg_ts_config WHERE cfgname = 'spanish')
"""


async def look(database: Database, *, model: EmbeddingModel) -> SearchFacts:
    """Raises StorageUnavailableError, with reason ``schema`` for a database without a schema."""
    rows = await database.fetch(LOOK, {"name": model.name}, workspace=EVERY_WORKSPACE)
    revision, widths, invalid, has_spanish = rows[0] if rows else (None, [], [], False)
    return SearchFacts(
        revision=revision, widths=tuple(widths), invalid_indexes=tuple(invalid), has_spanish=bool(has_spanish)
    )
