"""Commands that call a model: vectors by hand, the doctor's questions, and a database of another model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from ragcorp.interface.cli.documents import vectors
from support.models.openai_server import FakeOpenAI, openai_server
from support.processes.command_line import Done, run_here

Command = Callable[..., Done]

KEY = "sk-no-one-may-see-this"


@pytest.fixture
def provider() -> Iterator[FakeOpenAI]:
    """An OpenAI-compatible server in a thread of its own."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(openai_server()) as fake:
        yield fake


@pytest.fixture
def ragcorp(
    provider: FakeOpenAI, make_database: Callable[..., str], postgres_server: object, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Run a command over an empty database, with the provider's model."""
    name = make_database()
    for variable, value in {
        "DATABASE_URL": postgres_server.dsn(name),  # type: ignore[attr-defined]
        "DATABASE_OWNER_URL": postgres_server.dsn(name, role="ragcorp_owner"),  # type: ignore[attr-defined]
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": "fake-model",
        "EMBEDDING_DIM": "8",
        "OPENAI_BASE_URL": provider.base_url,
        "OPENAI_API_KEY": KEY,
    }.items():
        monkeypatch.setenv(variable, value)
    return run_here


def test_migrate_then_ingest_then_search_by_vectors(ragcorp: Command, folder: Path) -> None:
    migrated = ragcorp("migrate", "--json")
    assert migrated.code == 0, migrated.out
    assert migrated.json["before"] is None
    assert migrated.json["after"] == migrated.json["head"]
    assert ragcorp("migrate", "--check").code == 0
    assert ragcorp("migrate", "--json").json["before"] == migrated.json["head"]

    left = ragcorp("ingest", str(folder), "--no-embed", "--json").json
    assert (left["embedded"], left["pending"] > 0) == (0, True)
    made = ragcorp("embed", "--pending", "--json")
    assert (made.code, made.json["embedded"], made.json["pending"]) == (0, left["pending"], 0)
    matches = ragcorp("search", "Acme Corporation", "--json").json
    assert (matches["mode_used"], matches["degraded"]) == ("dense", [])
    hybrid = ragcorp("search", "Acme Corporation", "--mode=hybrid", "--weights=dense=1,full_text=2", "--json").json
    assert hybrid["results"][0]["score_type"] == "rrf"
    assert "Acme Corporation" in hybrid["results"][0]["text"]


def test_ingest_makes_the_vectors_and_shows_how_far_it_is(ragcorp: Command, folder: Path) -> None:
    assert ragcorp("migrate").code == 0
    done = ragcorp("ingest", str(folder), "--json")
    assert (done.code, done.json["pending"]) == (0, 0)
    assert done.json["embedded"] > 0
    assert "Ingesting documentos: 2 of 2 files" in done.err
    assert "Making vectors" in done.err


def test_a_provider_that_is_out_ends_in_one_error_and_keeps_the_text(
    ragcorp: Command, provider: FakeOpenAI, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(vectors, "MAX_FAILED_ROUNDS", 1)
    assert ragcorp("migrate").code == 0
    provider.always = "401"
    done = ragcorp("ingest", str(folder), "--json")
    assert (done.code, done.json["error"]["code"]) == (3, "embedder_unavailable")
    assert "ragcorp embed --pending" in done.json["error"]["remedy"]
    matches = ragcorp("search", "Acme", "--json").json
    assert matches["results"]
    assert matches["degraded"]
    provider.always = "ok"
    assert ragcorp("embed", "--pending", "--json").json["pending"] == 0


def test_the_doctor_asks_both_models(ragcorp: Command, provider: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWER_PROVIDER", "openai")
    assert ragcorp("migrate").code == 0
    healthy = ragcorp("doctor", "--json")
    assert healthy.code == 0, healthy.out
    assert {check["name"]: check["status"] for check in healthy.json["checks"]}["answerer"] == "ok"

    provider.always = "401"
    ill = ragcorp("doctor", "--json")
    assert ill.code == 1
    failed = {check["name"]: check for check in ill.json["checks"] if check["status"] == "failed"}
    assert set(failed) == {"embedder", "answerer"}
    assert all(check["remedy"] for check in failed.values())
    assert KEY not in healthy.out + healthy.err + ill.out + ill.err

    provider.always = "hang"
    monkeypatch.setenv("EMBEDDING_TIMEOUT_SECONDS", "0.3")
    monkeypatch.setenv("ANSWER_TIMEOUT_SECONDS", "0.3")
    assert ragcorp("doctor").code == 1


def test_vectors_of_another_model_are_refused_and_kept(
    ragcorp: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ragcorp("migrate").code == 0
    assert ragcorp("ingest", str(folder)).code == 0
    monkeypatch.setenv("EMBEDDING_MODEL", "another-model")
    for command in (["search", "x"], ["migrate"], ["serve", "--port=0"], ["embed", "--pending"]):
        done = ragcorp(*command, "--json")
        assert (done.code, done.json["error"]["code"]) == (2, "incompatible_embeddings"), command
        assert "fake-model" in done.json["error"]["message"]
    doctor = ragcorp("doctor", "--json")
    assert {check["name"] for check in doctor.json["checks"] if check["status"] == "failed"} == {"stored vectors"}
    monkeypatch.setenv("EMBEDDING_MODEL", "fake-model")
    assert ragcorp("search", "Acme", "--json").json["degraded"] == []
