"""`serve`, `demo` and long commands as processes: they stop cleanly, and leave no PostgreSQL behind."""

from __future__ import annotations

import json
import signal
import time
import urllib.request
from pathlib import Path

import psycopg
import pytest

from ragcorp.infrastructure.embedded_postgres import status
from support.processes.command_line import Running, run_apart

FILES = 240


def test_the_demo_answers_and_ingests_nothing_twice(data_dir: Path) -> None:
    first = run_apart("demo", "--no-serve", "--json", "--data-dir", str(data_dir), timeout=110)
    assert first.code == 0, first.out + first.err
    assert (first.json["created"], first.json["failed"]) == (48, 0)
    assert first.json["hybrid"] is True
    assert "Hybrid search is on" in first.err
    assert not status(data_dir).running

    second = run_apart("demo", "--no-serve", "--data-dir", str(data_dir))
    assert second.code == 0
    assert "0 ingested, 48 stored before" in second.err
    assert "noventa días naturales" in second.out
    assert "[1] contratos/acme-corporation-telemetria.md:" in second.out

    questions = json.loads((Path(__file__).parents[3] / "ragcorp/demo_corpus/questions.json").read_text())
    for asked, answered in zip(questions, first.json["answers"], strict=True):
        assert answered["question"] == asked["question"]
        assert not answered["abstained"]
        assert asked["gold"] in " ".join(citation["quote"] for citation in answered["citations"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_serves_and_stops_with_its_database(data_dir: Path, number: signal.Signals) -> None:
    running = Running.start("demo", "--port", "0", "--data-dir", str(data_dir))
    url = running.wait_for(r"Listening on (\S+)", seconds=100)[1]
    page = running.wait_for(r"the page: +(\S+)")[1]
    with urllib.request.urlopen(page, timeout=10) as response:
        assert response.headers["Content-Type"].startswith("text/html")
    body = json.dumps({"query": "Acme Corporation"}).encode()
    request = urllib.request.Request(f"{url}/search", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        assert "Acme Corporation" in json.load(response)["results"][0]["text"]
    assert status(data_dir).running
    done = running.stop(number)
    assert done.code == 0, done.err
    assert "Stopped." in done.err
    assert "Traceback" not in done.err
    assert not status(data_dir).running


def test_serve_announces_itself_in_json_and_shares_its_database(data_dir: Path) -> None:
    running = Running.start("serve", "--port", "0", "--json", "--data-dir", str(data_dir))
    running.wait_for("Ctrl-C stops it", seconds=100)
    beside = run_apart("documents", "list", "--limit", "1", "--json", "--data-dir", str(data_dir))
    assert beside.code == 0
    assert status(data_dir).running, "the first of two users took the server with it"
    done = running.stop()
    assert done.code == 0, done.err
    assert done.json["url"].startswith("http://127.0.0.1:")
    assert done.json["hybrid"] is False
    assert not status(data_dir).running


def test_a_start_that_is_interrupted_leaves_no_server(data_dir: Path) -> None:
    another = data_dir.parent / "another"
    running = Running.start("serve", "--port", "0", "--data-dir", str(another))
    while running.process.poll() is None and not (another / "launcher.lock").exists():
        time.sleep(0.01)
    done = running.stop()
    assert done.code == 130
    assert "Traceback" not in done.err
    assert not status(another).running


def test_an_interrupted_ingestion_keeps_what_is_done_and_resumes(dsn: str, tmp_path: Path) -> None:
    for number in range(FILES):
        text = f"# Documento {number}\n\n" + f"El pedido {number} está listo. " * 50
        (tmp_path / f"{number:03}.md").write_text(text, encoding="utf-8")
    running = Running.start("ingest", str(tmp_path), env={"DATABASE_URL": dsn})
    with psycopg.connect(dsn, autocommit=True) as connection:
        while connection.execute("SELECT id FROM documents LIMIT 1").fetchone() is None:
            assert running.process.poll() is None, running.lines
            time.sleep(0.01)
    done = running.stop()
    assert done.code == 130
    assert "run the same command again" in done.err
    again = run_apart("ingest", str(tmp_path), "--json", env={"DATABASE_URL": dsn})
    assert again.code == 0, again.err
    assert 0 < again.json["unchanged"] < FILES
    assert again.json["created"] + again.json["unchanged"] == FILES
