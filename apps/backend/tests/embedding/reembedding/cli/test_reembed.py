"""`ragcorp reembed` over a database with vectors of one model, and a provider that has another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from ragcorp.domain.embeddings import EmbeddingModel
from support.fixtures.command_line import logging_restored
from support.models.embedders import HashingEmbedder
from support.models.openai_server import FakeOpenAI, openai_server
from support.processes.command_line import Done, run_here

Command = Callable[..., Done]

KEY = "sk-no-one-may-see-this"
TEXTS = 5


def hashing(name: str, dimensions: int) -> Callable[[str], Any]:
    return HashingEmbedder(model=EmbeddingModel(name=name, dimensions=dimensions)).vector


@contextmanager
def two_models() -> Iterator[FakeOpenAI]:
    """A server of two models in a thread of its own."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(openai_server()) as fake:
        fake.vectors = {"old-model": hashing("old-model", 8), "new-model": hashing("new-model", 12)}
        yield fake


@pytest.fixture
def provider() -> Iterator[FakeOpenAI]:
    with two_models() as fake:
        yield fake


def connect_to(name: str, provider: FakeOpenAI, server: Any, patch: pytest.MonkeyPatch) -> None:
    for variable, value in {
        "DATABASE_URL": server.dsn(name),
        "DATABASE_OWNER_URL": server.dsn(name, role="ragcorp_owner"),
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": "old-model",
        "EMBEDDING_DIM": "8",
        "EMBEDDING_BATCH_SIZE": "2",
        "OPENAI_BASE_URL": provider.base_url,
        "OPENAI_API_KEY": KEY,
    }.items():
        patch.setenv(variable, value)


@pytest.fixture(scope="module")
def filled_database(
    postgres_server: Any, keep_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The name of a database with a few documents and their vectors of `old-model`."""
    name = keep_database()
    folder = tmp_path_factory.mktemp("notas")
    for number in range(TEXTS):
        (folder / f"{number}.txt").write_text(f"La nota {number} habla de Acme.", encoding="utf-8")
    with two_models() as provider, pytest.MonkeyPatch.context() as patch, logging_restored():
        connect_to(name, provider, postgres_server, patch)
        assert run_here("migrate").code == 0
        assert run_here("ingest", str(folder)).code == 0
    return name


@pytest.fixture
def ragcorp(
    provider: FakeOpenAI,
    make_database: Callable[..., str],
    filled_database: str,
    postgres_server: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    """Run a command over a clone of the filled database."""
    connect_to(make_database(filled_database), provider, postgres_server, monkeypatch)
    return run_here


def asked(provider: FakeOpenAI, model: str) -> list[str]:
    """The texts that a model was asked for, in order."""
    return [text for seen in provider.seen if seen.body["model"] == model for text in seen.body["input"]]


def states(ragcorp: Command) -> dict[str, tuple[bool, int, int]]:
    shown = ragcorp("reembed", "--status", "--json").json["models"]
    return {item["model"]: (item["active"], item["vectors"], item["missing"]) for item in shown}


def test_there_and_back_and_dropped(ragcorp: Command, provider: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(ragcorp) == {"old-model": (True, TEXTS, 0)}
    done = ragcorp("reembed", "--model=new-model", "--dimensions=12")
    assert done.code == 0, done.err
    assert "new-model (12 dimensions) is the active model now." in done.out
    assert "EMBEDDING_MODEL=new-model" in done.out
    assert f"Making vectors: {TEXTS} of {TEXTS} texts" in done.err
    assert len(asked(provider, "new-model")) == TEXTS + 1
    assert asked(provider, "old-model") == []

    # a command of the old model is told what to do
    refused = ragcorp("search", "Acme", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "incompatible_embeddings")
    assert "ragcorp reembed" in refused.json["error"]["remedy"]
    monkeypatch.setenv("EMBEDDING_MODEL", "new-model")
    monkeypatch.setenv("EMBEDDING_DIM", "12")
    matches = ragcorp("search", "nota 3", "--mode=dense", "--json").json
    assert (matches["mode_used"], matches["degraded"], len(matches["results"])) == ("dense", [], TEXTS)

    back = ragcorp("reembed", "--switch-back")
    assert back.code == 0, back.err
    assert "old-model (8 dimensions) is the active model again; 0 texts wait" in back.out
    assert states(ragcorp) == {"new-model": (False, TEXTS, 0), "old-model": (True, TEXTS, 0)}
    provider.seen.clear()
    forth = ragcorp("reembed", "--model=new-model", "--dimensions=12", "--json")
    assert json.loads(forth.out.splitlines()[-1])["status"] == "switched"
    assert len(asked(provider, "new-model")) == 1, "only the question whether it is there"

    refused = ragcorp("reembed", "--drop=new-model", "--json")
    assert (refused.code, refused.json["error"]["field"]) == (2, "--drop")
    assert "vectors of old-model (8 dimensions) removed" in ragcorp("reembed", "--drop=old-model").out
    assert states(ragcorp) == {"new-model": (True, TEXTS, 0)}
    shown = ragcorp("reembed", "--status")
    assert "6 of 6" in shown.out
    assert KEY not in shown.out + done.out + done.err


def test_json_is_a_line_an_event(ragcorp: Command) -> None:
    done = ragcorp("reembed", "--model=new-model", "--dimensions=12", "--no-switch", "--json")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [(event["event"], event.get("task")) for event in events] == [
        ("progress", "Making vectors"),
        ("progress", "Building indexes"),
        ("progress", "Catching up"),
        ("done", None),
    ]
    assert (events[0]["done"], events[0]["total"], events[0]["unit"]) == (TEXTS, TEXTS, "texts")
    assert events[0]["per_second"] > 0
    assert (events[1]["done"], events[1]["total"]) == (6, 6)
    assert events[-1] == {
        "event": "done",
        "status": "ready",
        "model": "new-model",
        "dimensions": 12,
        "embedded": TEXTS,
        "known": 0,
        "rejected": 0,
        "waiting": 0,
    }
    assert states(ragcorp)["old-model"] == (True, TEXTS, 0)


def test_the_model_in_use_is_said_to_be(ragcorp: Command, provider: FakeOpenAI) -> None:
    done = ragcorp("reembed", "--model=old-model", "--dimensions=8")
    assert (done.code, provider.seen) == (0, [])
    assert "old-model (8 dimensions) is the active model already." in done.out


NEW = ("--model=new-model", "--dimensions=12")

REFUSED = {
    (): "--model",
    ("--model=x", "--status"): "--model",
    ("--drop=x", "--switch-back"): "--model",
    ("--switch-back", "--no-switch"): "--no-switch",
    ("--switch-back", "--model=old-model", "--no-switch"): "--no-switch",
    ("--status", "--no-switch"): "--no-switch",
    ("--drop=old-model", "--no-switch"): "--no-switch",
    ("--switch-back", "--provider=openai"): "--provider",
    ("--status", "--provider=openai"): "--provider",
    ("--drop=old-model", "--provider=openai"): "--provider",
    ("--status", "--dimensions=8"): "--dimensions",
    ("--model=unheard-of",): "--dimensions",
    ("--model=new-model", "--dimensions=0"): "--dimensions",
    ("--model=new-model", "--dimensions=-3"): "--dimensions",
    ("--model=new-model", "--dimensions=4001"): "--dimensions",
    ("--model=", "--dimensions=12"): "--model",
    ("--model= ",): "--model",
    (f"--model={'x' * 400}", "--dimensions=12"): "--model",
    (*NEW, "--provider=other"): "--provider",
    (*NEW, "--provider=local"): "--model, --dimensions",
    ("--drop=unheard-of",): "--drop",
    ("--switch-back",): "--model",
}


def test_what_cannot_be_done_is_said_and_changes_nothing(ragcorp: Command, provider: FakeOpenAI) -> None:
    for arguments, field in REFUSED.items():
        done = ragcorp("reembed", *arguments, "--json")
        assert (done.code, done.json["error"]["field"]) == (2, field), (arguments, done.out)
        assert done.json["error"]["remedy"]
        assert "EMBEDDING_" not in done.out
        assert "settings" not in done.out
    assert provider.seen == []
    assert states(ragcorp) == {"old-model": (True, TEXTS, 0)}


def test_a_width_out_of_range_has_the_range_told(ragcorp: Command) -> None:
    for width in (0, -3, 5000):
        error = ragcorp("reembed", "--model=new-model", f"--dimensions={width}", "--json").json["error"]
        assert (error["message"], error["limit"]) == ("--dimensions is out of range.", "1 to 4000")


FAULTS = {
    "401": (3, "embedder_unavailable", "no usable vectors"),
    "html": (3, "embedder_unavailable", "no usable vectors"),
    "null": (3, "embedder_unavailable", "no usable vectors"),
    "nan": (3, "embedder_unavailable", "zero or not finite"),
    "zero": (3, "embedder_unavailable", "zero or not finite"),
    "wrong_width": (2, "configuration", "another width than --dimensions says"),
}


def test_a_provider_that_is_of_no_use_is_told_truly_and_changes_nothing(ragcorp: Command, provider: FakeOpenAI) -> None:
    for fault, (code, kind, said) in FAULTS.items():
        provider.always = fault
        done = ragcorp("reembed", *NEW, "--json")
        assert (done.code, done.json["error"]["code"]) == (code, kind), (fault, done.out)
        assert said in done.json["error"]["message"], fault
        assert "EMBEDDING_" not in done.out
        assert KEY not in done.out + done.err
    assert states(ragcorp) == {"old-model": (True, TEXTS, 0)}
