"""`ragcorp embeddings`: what the cache of vectors holds, and a prune of what was not used for long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from anyio.from_thread import start_blocking_portal

from support.models.openai_server import FakeOpenAI, openai_server
from support.processes.command_line import Done, run_here

Command = Callable[..., Done]


@pytest.fixture
def provider() -> Iterator[FakeOpenAI]:
    """An OpenAI-compatible server in a thread of its own."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(openai_server()) as fake:
        yield fake


@pytest.fixture
def ragcorp(provider: FakeOpenAI, dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command over a database with a few cached vectors of the test's model."""
    for variable, value in {
        "DATABASE_URL": dsn,
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": "test-embedder",
        "EMBEDDING_DIM": "8",
        "OPENAI_BASE_URL": provider.base_url,
        "OPENAI_API_KEY": "sk-test",
    }.items():
        monkeypatch.setenv(variable, value)
    assert run_here("ingest", str(folder)).code == 0
    return run_here


def age(dsn: str, *, days: float, of: int) -> None:
    """Let some of the cached vectors be unused for so many days."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "UPDATE embedding_cache SET last_used_at = now() - make_interval(secs => %s * 86400) WHERE content_hash IN "
            "(SELECT content_hash FROM embedding_cache ORDER BY content_hash LIMIT %s)",
            [days, of],
        )


def test_status_says_what_is_cached(ragcorp: Command, dsn: str) -> None:
    cached = ragcorp("embeddings", "status", "--json").json
    (model,) = cached["models"]
    assert (model["model"], model["dimensions"], model["active"]) == ("test-embedder", 8, True)
    assert model["vectors"] == cached["vectors"] > 1
    # 4 bytes a number, 4 for their number and 1 for the length
    assert model["bytes"] == cached["bytes"] == 37 * cached["vectors"]
    age(dsn, days=400, of=1)
    older = ragcorp("embeddings", "status", "--json").json["models"][0]["oldest_use"]
    assert older < model["oldest_use"]
    shown = ragcorp("embeddings", "status").out
    assert "test-embedder" in shown
    assert older[:10] in shown


def test_prune_counts_then_removes_and_searches_find_what_they_found(ragcorp: Command, dsn: str) -> None:
    before = ragcorp("embeddings", "status", "--json").json["vectors"]
    result = ragcorp("search", "Acme Corporation", "--mode=dense", "--json").json["results"]
    age(dsn, days=40, of=2)
    dry = ragcorp("embeddings", "prune", "--unused-days=30", "--dry-run", "--json")
    assert (dry.code, dry.json) == (0, {"unused": 2, "pruned": 0, "dry_run": True})
    assert ragcorp("embeddings", "prune", "--unused-days=30", "--dry-run").out == "2 vectors would go.\n"
    done = ragcorp("embeddings", "prune", "--unused-days=30", "--model=test-embedder")
    assert (done.code, done.out) == (0, "2 vectors removed.\n")
    assert "Pruning: 2 of 2 vectors" in done.err
    assert ragcorp("embeddings", "status", "--json").json["vectors"] == before - 2
    assert ragcorp("embeddings", "prune", "--unused-days=30", "--json").json["unused"] == 0
    assert ragcorp("search", "Acme Corporation", "--mode=dense", "--json").json["results"] == result != []
    assert ragcorp("embeddings", "prune", "--unused-days=0", "--json").json["pruned"] == before - 2
    assert ragcorp("embeddings", "status", "--json").json["vectors"] == 0


def test_what_was_pruned_is_embedded_again_and_what_was_not_is_not(
    ragcorp: Command, provider: FakeOpenAI, folder: Path, tmp_path: Path
) -> None:
    def calls_of_a_copy(prefix: str) -> int:
        provider.seen.clear()
        assert ragcorp("ingest", str(folder), "--prefix", prefix).code == 0
        return len(provider.seen)

    assert calls_of_a_copy("one/") == 0
    assert ragcorp("embeddings", "prune", "--unused-days=0").code == 0
    assert calls_of_a_copy("two/") > 0


def test_what_cannot_be_pruned_is_refused_and_nothing_goes(ragcorp: Command) -> None:
    before = ragcorp("embeddings", "status", "--json").json["vectors"]
    for arguments, field in (
        (["--unused-days=-1"], "unused_days"),
        (["--unused-days=nan"], "unused_days"),
        (["--unused-days=3", "--model=nobody-knows"], "model"),
        ([], None),
        (["--unused-days=many"], None),
    ):
        done = ragcorp("embeddings", "prune", *arguments, "--json")
        assert (done.code, done.json["error"]["field"]) == (2, field), arguments
        assert "nobody-knows" not in done.out
    assert ragcorp("embeddings", "status", "--json").json["vectors"] == before
