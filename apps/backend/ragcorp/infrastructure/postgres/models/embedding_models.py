"""The embedding models with stored vectors, and their HNSW indexes."""

from sqlalchemy import Connection, text

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.domain.exceptions import ConfigurationError, IncompatibleEmbeddingsError
from ragcorp.infrastructure.postgres.connections.indexes import create_index, create_index_concurrently
from ragcorp.infrastructure.postgres.tables.embedded import EMBEDDED
from ragcorp.infrastructure.postgres.visibility.predicates import Predicate

DEFAULT_MODEL = ("multilingual-e5-small", 384)

DISTANCE_THRESHOLDS = {DEFAULT_MODEL: 0.19}
"""Measured cosine distances from which a match means nothing, by model (docs/retrieval.md)."""

SIMILARITY_THRESHOLDS = {DEFAULT_MODEL: 0.825}
"""Measured cosine similarities above which an entity is related to a question, by model (docs/retrieval.md)."""

MEASURED = {"distance_threshold": DISTANCE_THRESHOLDS, "similarity_threshold": SIMILARITY_THRESHOLDS}
"""The thresholds by column."""

VECTOR_INDEX_LIMIT = 2000
HALFVEC_INDEX_LIMIT = 4000
"""Most dimensions that pgvector indexes as ``vector`` (32-bit floats) and as ``halfvec`` (16-bit)."""

ACTIVE_MODEL = "SELECT * FROM embedding_models WHERE active"

STORE_THRESHOLD = """
    UPDATE embedding_models SET {column} = %(threshold)s
    WHERE name = %(name)s AND dimensions = %(dimensions)s AND {column} IS NULL
"""
"""A calibrated threshold stays."""

VECTOR_TABLES = (*(table.embeddings for table in EMBEDDED.values()), "document_embeddings")
"""Every table of vectors, each with the columns ``model_id`` and ``embedding``."""

EXISTING_TABLES = "SELECT name FROM unnest(CAST(:names AS text[])) AS name WHERE to_regclass(name) IS NOT NULL"

BACKLOG_TABLES = tuple(table.backlog for table in EMBEDDED.values())
"""Every embedding backlog, each with the columns ``workspace`` and ``failed``."""


def has_vectors(model_id: str) -> str:
    """Return the condition that vectors of the model are stored; ``model_id`` is SQL."""
    stored = (f"EXISTS (SELECT FROM {table} stored WHERE stored.model_id = {model_id})" for table in VECTOR_TABLES)
    return f"({' OR '.join(stored)})"


HAS_VECTORS = f"SELECT {has_vectors(':model_id')}"


def indexed_type(dimensions: int) -> str:
    """Return the pgvector type, with its width, that an index over ``dimensions`` uses."""
    return f"vector({dimensions})" if dimensions <= VECTOR_INDEX_LIMIT else f"halfvec({dimensions})"


def hnsw_index_name(table: str, model_id: int) -> str:
    return f"ix_{table}_hnsw_{model_id}"


def vector_index(table: str, *, model_id: int, dimensions: int) -> str:
    """Return the definition after the name in CREATE INDEX: HNSW (cosine) over one model's vectors."""
    column = indexed_type(dimensions)
    operators = f"{column.partition('(')[0]}_cosine_ops"
    return f"ON {table} USING hnsw ((embedding::{column}) {operators}) WHERE model_id = {model_id}"


def is_active(model_id: int) -> str:
    """Return the condition that the model is active, as SQL that is evaluated once per statement."""
    return f"EXISTS (SELECT FROM embedding_models m WHERE m.id = {model_id} AND m.active)"


def last_with_vector(table: str, *, key: str, model_id: int) -> str:
    """Return the highest key with a vector of the model, as SQL. After a switch the old model gets no new ones."""
    return f"(SELECT coalesce(max(last.{key}), 0) FROM {table} last WHERE last.model_id = {model_id})"


IS_SERVING = """EXISTS (
    SELECT FROM embedding_models serving WHERE serving.active
        AND serving.name = %(serving_name)s AND serving.dimensions = %(serving_dimensions)s)"""


def serving(model: EmbeddingModel | None) -> Predicate:
    """Return the condition that the model is active; None: any model."""
    if model is None:
        return Predicate()
    values: dict[str, object] = {"serving_name": model.name, "serving_dimensions": model.dimensions}
    return Predicate(clauses=[IS_SERVING], values=values)


def require_width(dimensions: int, *, field: str) -> None:
    """Raise ConfigurationError if no index supports vectors of this width."""
    if not 1 <= dimensions <= HALFVEC_INDEX_LIMIT:
        raise ConfigurationError(
            f"{field} is out of range.",
            field=field,
            limit=f"1 to {HALFVEC_INDEX_LIMIT}",
            remedy="Choose a smaller width; models that take `dimensions` can shorten their vectors.",
        )


def ensure_model(connection: Connection, *, name: str, dimensions: int, concurrently: bool = True) -> int:
    """Activate the model, create its HNSW index on each table of vectors, and return its id.

    Needs an autocommit connection, except for tables created in this transaction (``concurrently`` False). Raises
    IncompatibleEmbeddingsError if another model is active and has vectors, which are never dropped here.
    """
    require_width(dimensions, field="EMBEDDING_DIM")
    active = connection.execute(text(ACTIVE_MODEL)).one_or_none()
    if active is not None and (active.name, active.dimensions) != (name, dimensions):
        if connection.execute(text(HAS_VECTORS), {"model_id": active.id}).scalar_one():
            raise incompatible(expected=(active.name, active.dimensions), configured=(name, dimensions))
        connection.execute(text("UPDATE embedding_models SET active = false WHERE active"))
    stored = connection.execute(
        text("""
            INSERT INTO embedding_models (name, dimensions, active) VALUES (:name, :dimensions, true)
            ON CONFLICT (name, dimensions) DO UPDATE SET active = true
            RETURNING *
        """),
        {"name": name, "dimensions": dimensions},
    ).one()
    for column in MEASURED.keys() & set(stored._fields):  # migration 002 comes before these columns
        store_measured(connection, column)
    _index_vectors(connection, int(stored.id), dimensions, concurrently=concurrently)
    return int(stored.id)


def measured_thresholds(column: str) -> list[tuple[str, dict[str, object]]]:
    """Return the statements, with values, that store the measured thresholds of models without one."""
    return [
        (STORE_THRESHOLD.format(column=column), {"name": name, "dimensions": dimensions, "threshold": threshold})
        for (name, dimensions), threshold in MEASURED[column].items()
    ]


def store_measured(connection: Connection, column: str) -> None:
    for statement, values in measured_thresholds(column):
        connection.exec_driver_sql(statement, values)


def ensure_active_indexes(connection: Connection) -> None:
    """Create the missing HNSW indexes of the active model. Needs an autocommit connection."""
    active = connection.execute(text(ACTIVE_MODEL)).one_or_none()
    if active is not None:
        _index_vectors(connection, active.id, active.dimensions, concurrently=True)


def _index_vectors(connection: Connection, model_id: int, dimensions: int, *, concurrently: bool) -> None:
    """Index the existing tables: migration 002 precedes most of them."""
    create = create_index_concurrently if concurrently else create_index
    for table in connection.execute(text(EXISTING_TABLES), {"names": list(VECTOR_TABLES)}).scalars().all():
        definition = vector_index(table, model_id=model_id, dimensions=dimensions)
        create(connection, hnsw_index_name(table, model_id), definition)


def incompatible(*, expected: tuple[str, int], configured: tuple[str, int]) -> IncompatibleEmbeddingsError:
    return IncompatibleEmbeddingsError(
        f"The database holds vectors of model '{expected[0]}' with {expected[1]} dimensions, "
        f"but the settings name '{configured[0]}' with {configured[1]}.",
        field="EMBEDDING_MODEL, EMBEDDING_DIM",
        limit=f"{expected[0]}, {expected[1]} dimensions",
        remedy="Set both back to the stored model; or run `ragcorp reembed --model NAME --dimensions N`, which makes "
        "the vectors of the other one beside these and then switches (`ragcorp reembed --switch-back` goes back). "
        "Nothing was changed.",
    )
