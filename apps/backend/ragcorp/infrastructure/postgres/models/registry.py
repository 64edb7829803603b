"""The active embedding model, checked at start against the configured one, and its calibration."""

from dataclasses import dataclass, fields

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.evaluation.calibration import Calibration
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.models.embedding_models import has_vectors, incompatible


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveModel:
    """The model whose vectors are searched and written.

    The weights of evidence and identifiers, relative to the cosine, are set if calibrated, the thresholds if measured:
    from the cosine distance ``distance_threshold`` up a match means nothing, and above the cosine similarity
    ``similarity_threshold`` an entity is related to a question.
    """

    id: int
    name: str
    dimensions: int
    evidence_weight: float | None = None
    identifier_weight: float | None = None
    distance_threshold: float | None = None
    similarity_threshold: float | None = None


_COLUMNS = [field.name for field in fields(ActiveModel)]

ACTIVE = f"SELECT {', '.join(_COLUMNS)}, {has_vectors('embedding_models.id')} FROM embedding_models WHERE active"

STORE_CALIBRATION = """
    UPDATE embedding_models SET evidence_weight = %(evidence_weight)s, identifier_weight = %(identifier_weight)s,
        distance_threshold = coalesce(%(distance_threshold)s, distance_threshold)
    WHERE name = %(name)s AND dimensions = %(dimensions)s
"""
"""A calibration without a distance keeps the stored one."""


async def active_model(database: Database, *, configured: EmbeddingModel | None) -> ActiveModel | None:
    """Return the active model, checked against the ``configured`` one (None: no embedder).

    Raises IncompatibleEmbeddingsError if they differ and vectors exist; ConfigurationError if they differ and none do.
    """
    rows = await database.fetch(ACTIVE, workspace=EVERY_WORKSPACE)
    if not rows:
        return None
    *columns, is_used = rows[0]
    active = ActiveModel(**dict(zip(_COLUMNS, columns, strict=True)))
    stored = (active.name, active.dimensions)
    if configured is None or stored == (configured.name, configured.dimensions):
        return active
    if is_used:
        raise incompatible(expected=stored, configured=(configured.name, configured.dimensions))
    raise ConfigurationError(
        f"The database is prepared for model '{active.name}' with {active.dimensions} dimensions and holds no vectors "
        f"yet; the settings name '{configured.name}' with {configured.dimensions}.",
        field="EMBEDDING_MODEL, EMBEDDING_DIM",
        remedy="Run `ragcorp migrate`: it prepares the database for the configured model.",
    )


class PostgresCalibrationStore:
    """Calibrations apply from the next start of a service."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def store_calibration(self, calibration: Calibration, *, model: EmbeddingModel) -> None:
        values = {
            "name": model.name,
            "dimensions": model.dimensions,
            "evidence_weight": calibration.evidence_weight,
            "identifier_weight": calibration.identifier_weight,
            "distance_threshold": calibration.distance_threshold,
        }
        async with self._database.transaction(EVERY_WORKSPACE) as connection:
            await connection.execute(STORE_CALIBRATION, values)
