"""The port CalibrationStore over PostgreSQL: weights and distance are stored with the embedding model."""

from __future__ import annotations

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.evaluation.calibration import Calibration
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.models.registry import store_weights


class PostgresCalibrationStore:
    """Calibrations apply from the next start of a service."""

    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def store_calibration(self, calibration: Calibration, *, model: EmbeddingModel) -> None:
        await store_weights(
            self._database,
            model=model,
            evidence_weight=calibration.evidence_weight,
            identifier_weight=calibration.identifier_weight,
            distance_threshold=calibration.distance_threshold,
        )
