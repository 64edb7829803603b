"""`ragcorp ingest --watch` as a process: what it writes, how it ends, and what it finds when it is started again."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.files.watched_trees import put
from support.processes.command_line import Running, run_here

Row = dict[str, Any]
Start = Callable[..., Running]


class Watching:
    """A running `ragcorp ingest --watch --json`, and the lines that it wrote to stdout."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.rows: list[Row] = []

    def until(self, wanted: Callable[[Row], bool]) -> Row:
        """Read lines until one is the wanted one. A line that is no JSON fails here."""
        assert self.running.process.stdout is not None
        for line in self.running.process.stdout:
            self.rows.append(json.loads(line))
            if wanted(self.rows[-1]):
                return self.rows[-1]
        raise AssertionError(f"it ended: {self.rows} {self.running.lines}")

    def until_in_step(self) -> Row:
        return self.until(lambda row: row["event"] == "in_step")

    def stop(self, number: signal.Signals = signal.SIGINT) -> tuple[int, list[Row], str]:
        done = self.running.stop(number)
        return done.code, [json.loads(line) for line in done.out.splitlines()], done.err


@pytest.fixture
def started() -> Iterator[Start]:
    """Start processes that do not outlive the test."""
    with ExitStack() as stack:

        def start(*arguments: str, env: dict[str, str]) -> Running:
            running = Running.start(*arguments, env=env)
            stack.callback(running.kill)
            return running

        yield start


@pytest.fixture
def watch(dsn: str, started: Start) -> Callable[..., Watching]:
    def start(*arguments: str, **env: str) -> Watching:
        return Watching(started("ingest", "--watch", "--json", *arguments, env={"DATABASE_URL": dsn, **env}))

    return start


def event(kind: str, external_id: str) -> Callable[[Row], bool]:
    return lambda row: (row["event"], row.get("external_id")) == (kind, external_id)


def titles(dsn: str) -> dict[str, str]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT external_id, path FROM documents WHERE deleted_at IS NULL").fetchall()
    return dict(rows)


def test_a_line_a_change_until_it_is_stopped_and_on_from_there(
    dsn: str, tmp_path: Path, watch: Callable[..., Watching]
) -> None:
    root = tmp_path / "tree"
    put(root / "a.md", "la aguja")
    put(root / "main.py", "def pajar():\n    pass\n")
    put(root / "broken.md", "\0")
    watching = watch(str(root), ALLOWED_PATHS=f"docs={root}")
    first = watching.until_in_step()
    assert first == {
        "event": "in_step",
        "files": 3,
        "created": 2,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "failed": 1,
    }
    (failed,) = [row for row in watching.rows if row["event"] == "failed"]
    assert failed["external_id"] == "broken.md"
    assert failed["error"]["code"] == "unreadable_document"
    assert titles(dsn) == {"a.md": "docs/a.md", "main.py": "docs/main.py"}
    put(root / "sub" / "b.md", "nuevo", old=False)
    watching.until(event("created", "sub/b.md"))
    (root / "a.md").unlink()
    watching.until(event("deleted", "a.md"))
    code, rest, said = watching.stop(signal.SIGTERM)
    assert (code, rest) == (130, [])
    assert "Traceback" not in said
    assert str(tmp_path) not in said + json.dumps(watching.rows)

    (root / "main.py").unlink()
    put(root / "c.md", "mientras tanto")
    again = watch(str(root), ALLOWED_PATHS=f"docs={root}")
    again.until_in_step()
    assert again.stop()[0] == 130
    assert {(row["event"], row.get("external_id")) for row in again.rows} == {
        *{("created", "c.md"), ("failed", "broken.md"), ("deleted", "main.py")},
        ("in_step", None),
    }
    assert titles(dsn) == {"sub/b.md": "docs/sub/b.md", "c.md": "docs/c.md"}


def test_an_interruption_in_the_middle_leaves_whole_documents_and_resumes(
    dsn: str, tmp_path: Path, watch: Callable[..., Watching]
) -> None:
    for number in range(200):
        put(tmp_path / f"{number:03}.md", f"# Documento {number}\n\n" + f"El pedido {number} está listo. " * 60)
    watching = watch(str(tmp_path))
    watching.until(lambda row: row["event"] == "created")
    code, _, _ = watching.stop()
    assert code == 130
    with psycopg.connect(dsn) as connection:
        whole, halves = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE chunk_count = 0 OR chunk_count <> (SELECT count(*) FROM chunks c"
            " WHERE c.document_id = d.id)) FROM documents d"
        ).fetchone() or (0, 0)
    assert 0 < whole < 200
    assert halves == 0
    again = watch(str(tmp_path))
    told = again.until_in_step()
    assert again.stop()[0] == 130
    assert told["created"] + told["unchanged"] == 200
    assert told["unchanged"] >= whole - 16


def test_lines_for_people(dsn: str, tmp_path: Path, started: Start) -> None:
    put(tmp_path / "a.md", "uno")
    running = started("ingest", "--watch", str(tmp_path), env={"DATABASE_URL": dsn})
    running.wait_for("Ctrl-C stops it")
    assert running.process.stdout is not None
    lines = [running.process.stdout.readline() for _ in range(2)]
    assert lines == ["created  a.md\n", "in step: 1 files, 1 created\n"]
    done = running.stop()
    assert (done.code, done.out) == (130, "")
    assert "the next start finds what has changed" in done.err


def test_a_bar_for_many_files(dsn: str, tmp_path: Path, started: Start) -> None:
    for number in range(60):
        put(tmp_path / f"{number}.md", f"número {number}")
    running = started("ingest", "--watch", str(tmp_path), env={"DATABASE_URL": dsn})
    running.wait_for("60 of 60 files")
    assert running.process.stdout is not None
    assert running.process.stdout.readline() == "in step: 60 files, 60 created\n"
    assert running.stop().code == 130


def test_what_is_refused(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")
    two = run_here("ingest", "--watch", str(tmp_path), str(tmp_path), "--json")
    assert (two.code, two.json["error"]["field"]) == (2, "PATHS")
    missing = run_here("ingest", "--watch", str(tmp_path / "nowhere"), "--json")
    assert (missing.code, missing.json["error"]["code"]) == (2, "not_found")
    assert str(tmp_path) not in missing.out
    # a line a document, the last one too
    assert [len(done.out.splitlines()) for done in (two, missing)] == [1, 1]


def test_ingest_without_watch_names_paths_and_kinds(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "tree" / "a.py", "def aguja():\n    return 1\n")
    put(tmp_path / "tree" / "b.md", "pajar")
    put(tmp_path / "tree" / "out.md", "fuera")
    put(tmp_path / "tree" / ".gitignore", "out.md\n")
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")
    plain = run_here("ingest", str(tmp_path / "tree"), "--json")
    assert (plain.code, plain.json["created"]) == (0, 2)
    assert titles(dsn) == {"a.py": "a.py", "b.md": "b.md"}
    monkeypatch.setenv("ALLOWED_PATHS", f"x={tmp_path}")
    named = run_here("ingest", str(tmp_path / "tree"), "--json")
    assert (named.code, named.json["updated"]) == (0, 2)
    assert titles(dsn) == {"a.py": "x/tree/a.py", "b.md": "x/tree/b.md"}
    monkeypatch.delenv("ALLOWED_PATHS")
    everything = run_here("ingest", str(tmp_path / "tree"), "--json", "--no-gitignore")
    assert (everything.json["created"], everything.json["updated"]) == (1, 2)
    with psycopg.connect(dsn) as connection:
        kinds = connection.execute("SELECT external_id, artifact_type FROM documents ORDER BY 1").fetchall()
    assert kinds == [("a.py", "code"), ("b.md", "document"), ("out.md", "document")]
