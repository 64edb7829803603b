"""Checks, at start, the configured embedding model against the one that the stored vectors are of."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.models.embedding_models import ACTIVE_MODEL, HAS_VECTORS, incompatible


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveModel:
    """The model whose vectors are searched and written.

    The weights are those of a share of evidence and of an identifier beside its cosine, where they were calibrated.
    From the cosine distance ``distance_threshold`` on its vectors say nothing, and above the cosine similarity
    ``similarity_threshold`` an entity is related to a question, where those were measured.
    """

    id: int
    name: str
    dimensions: int
    evidence_weight: float | None = None
    identifier_weight: float | None = None
    distance_threshold: float | None = None
    similarity_threshold: float | None = None


async def active_model(database: Database, *, configured: EmbeddingModel | None) -> ActiveModel | None:
    """Return the active model, checked against the ``configured`` one (None: no embedder).

    Raises IncompatibleEmbeddingsError if they differ and vectors exist; ConfigurationError if they differ and none do.
    """
    async with database.transaction(EVERY_WORKSPACE) as connection:
        row = (await connection.execute(text(ACTIVE_MODEL))).one_or_none()
        if row is None:
            return None
        active = ActiveModel(
            id=row.id,
            name=row.name,
            dimensions=row.dimensions,
            evidence_weight=row.evidence_weight,
            identifier_weight=row.identifier_weight,
            distance_threshold=row.distance_threshold,
            similarity_threshold=row.similarity_threshold,
        )
        if configured is None or (configured.name, configured.dimensions) == (active.name, active.dimensions):
            return active
        found = (configured.name, configured.dimensions)
        if (await connection.execute(text(HAS_VECTORS), {"model_id": active.id})).scalar_one():
            raise incompatible(expected=(active.name, active.dimensions), found=found)
    raise ConfigurationError(
        f"The database is prepared for model '{active.name}' with {active.dimensions} dimensions and holds no vectors "
        f"yet; the settings name '{found[0]}' with {found[1]}.",
        field="EMBEDDING_MODEL, EMBEDDING_DIM",
        remedy="Run `ragcorp migrate`: it prepares the database for the configured model.",
    )


STORE_WEIGHTS = """
    UPDATE embedding_models SET evidence_weight = :evidence_weight, identifier_weight = :identifier_weight,
        distance_threshold = coalesce(:distance_threshold, distance_threshold)
    WHERE name = :name AND dimensions = :dimensions
"""


async def store_weights(
    database: Database,
    *,
    model: EmbeddingModel,
    evidence_weight: float,
    identifier_weight: float,
    distance_threshold: float | None = None,
) -> None:
    """Store the calibrated weights of linear fusion with the model, and its distance unless that is None.

    They apply from the next start on.
    """
    async with database.transaction(EVERY_WORKSPACE) as connection:
        await connection.execute(
            text(STORE_WEIGHTS),
            {
                "name": model.name,
                "dimensions": model.dimensions,
                "evidence_weight": evidence_weight,
                "identifier_weight": identifier_weight,
                "distance_threshold": distance_threshold,
            },
        )
