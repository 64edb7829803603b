"""With each embedding model stands the cosine distance from which its vectors say nothing, where it was measured."""

from __future__ import annotations

import pytest
from alembic import command

from ragcorp.domain.embeddings import EmbeddingModel
from ragcorp.evaluation.calibration import Calibration
from ragcorp.infrastructure.postgres.administration.migrations import alembic_config, migrate
from ragcorp.infrastructure.postgres.models.embedding_models import DEFAULT_MODEL, DISTANCE_THRESHOLDS
from ragcorp.infrastructure.postgres.models.registry import ActiveModel, PostgresCalibrationStore, active_model
from support.storage.migrations import MODEL, connected, one
from support.storage.postgres import open_database

MEASURED = DISTANCE_THRESHOLDS[DEFAULT_MODEL]
STORED = "SELECT distance_threshold FROM embedding_models WHERE name = %s"


def stored(dsn: str, name: str = DEFAULT_MODEL[0]) -> float | None:
    result: float | None = one(dsn, STORED, name)
    return result


def test_a_new_database_knows_the_local_models_distance(empty_owner_dsn: str) -> None:
    migrate(empty_owner_dsn, embedding_model=DEFAULT_MODEL)
    assert stored(empty_owner_dsn) == MEASURED == 0.19


def test_the_migration_gives_it_to_a_model_that_is_there_and_takes_it_away(empty_owner_dsn: str) -> None:
    config = alembic_config(empty_owner_dsn, embedding_model=DEFAULT_MODEL)
    command.upgrade(config, "010")
    command.upgrade(config, "011")
    assert stored(empty_owner_dsn) == MEASURED
    command.downgrade(config, "010")
    column = "SELECT count(*) FROM information_schema.columns WHERE column_name = 'distance_threshold'"
    assert one(empty_owner_dsn, column) == 0
    command.upgrade(config, "head")
    assert stored(empty_owner_dsn) == MEASURED


def test_another_model_has_none_until_it_is_measured(owner_dsn: str) -> None:
    assert stored(owner_dsn, MODEL[0]) is None


def test_a_model_that_becomes_active_later_gets_it(owner_dsn: str) -> None:
    migrate(owner_dsn, embedding_model=DEFAULT_MODEL)
    assert stored(owner_dsn) == MEASURED
    assert stored(owner_dsn, MODEL[0]) is None


def test_the_same_name_at_another_width_is_another_model(empty_owner_dsn: str) -> None:
    migrate(empty_owner_dsn, embedding_model=(DEFAULT_MODEL[0], 128))
    assert stored(empty_owner_dsn) is None


@pytest.mark.anyio
async def test_a_calibrated_distance_stays_and_is_told_with_the_active_model(empty_owner_dsn: str) -> None:
    migrate(empty_owner_dsn, embedding_model=DEFAULT_MODEL)
    model = EmbeddingModel(name=DEFAULT_MODEL[0], dimensions=DEFAULT_MODEL[1])
    async with open_database(empty_owner_dsn) as database:
        store = PostgresCalibrationStore(database=database)
        measured = Calibration(deviation=0.05, queries=10, passages=50, distance_threshold=0.25)
        await store.store_calibration(measured, model=model)
        unmeasured = Calibration(deviation=0.075, queries=10, passages=50)
        await store.store_calibration(unmeasured, model=model)
        migrate(empty_owner_dsn, embedding_model=DEFAULT_MODEL)
        result = await active_model(database, configured=model)
    assert isinstance(result, ActiveModel)
    assert (result.evidence_weight, result.distance_threshold) == (0.3, 0.25)


@pytest.mark.parametrize("distance", [0, -0.1, 2.1])
def test_a_distance_out_of_range_is_refused_by_the_table(owner_dsn: str, distance: float) -> None:
    with connected(owner_dsn) as connection, pytest.raises(Exception, match="ck_embedding_models_distance_threshold"):
        connection.execute("UPDATE embedding_models SET distance_threshold = %s", (distance,))
