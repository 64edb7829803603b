"""Checks the configured embedding model against that of the stored vectors, at start."""

from dataclasses import dataclass

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import ConfigurationError
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


ACTIVE = f"""
    SELECT id, name, dimensions, evidence_weight, identifier_weight, distance_threshold, similarity_threshold,
           {has_vectors("embedding_models.id")}
    FROM embedding_models WHERE active
"""


async def active_model(database: Database, *, configured: EmbeddingModel | None) -> ActiveModel | None:
    """Return the active model, checked against the ``configured`` one (None: no embedder).

    Raises IncompatibleEmbeddingsError if they differ and vectors exist; ConfigurationError if they differ and none do.
    """
    rows = await database.fetch(ACTIVE, workspace=EVERY_WORKSPACE)
    if not rows:
        return None
    id_, name, dimensions, evidence, identifier, distance, similarity, is_used = rows[0]
    if configured is None or configured == EmbeddingModel(name=name, dimensions=dimensions):
        return ActiveModel(
            id=id_,
            name=name,
            dimensions=dimensions,
            evidence_weight=evidence,
            identifier_weight=identifier,
            distance_threshold=distance,
            similarity_threshold=similarity,
        )
    if is_used:
        raise incompatible(expected=(name, dimensions), configured=(configured.name, configured.dimensions))
    raise ConfigurationError(
        f"The database is prepared for model '{name}' with {dimensions} dimensions and holds no vectors "
        f"yet; the settings name '{configured.name}' with {configured.dimensions}.",
        field="EMBEDDING_MODEL, EMBEDDING_DIM",
        remedy="Run `ragcorp migrate`: it prepares the database for the configured model.",
    )
