"""The port CalibrationStore over PostgreSQL: weights and distance are stored with the embedding model."""

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.evaluation.calibration import Calibration
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database

STORE = """
    UPDATE embedding_models SET evidence_weight = %(evidence_weight)s, identifier_weight = %(identifier_weight)s,
        distance_threshold = coalesce(%(distance_threshold)s, distance_threshold)
    WHERE name = %(name)s AND dimensions = %(dimensions)s
"""
"""A calibration without a distance keeps the stored one."""


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
            await connection.execute(STORE, values)
