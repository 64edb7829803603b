"""`ragcorp tui` as a command: refusals, and the whole of it on a terminal of its own."""

from __future__ import annotations

import logging
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ragcorp.main.commands import cli
from ragcorp.main.commands.tui import MOST_DEFERRED, deferred_logs, has_colour
from support.processes.command_line import environment, run_here

LEAVE = b"\x1b[?1049l"
"""The terminal goes back from the screen of the app to that of the shell."""


@pytest.fixture(autouse=True)
def quiet_logging() -> Iterator[None]:
    """A command sets logging up for its process: take that back."""
    root = logging.getLogger()
    before = root.level, list(root.handlers), logging.getLogger("ragcorp").level
    yield
    root.setLevel(before[0])
    root.handlers[:] = before[1]
    logging.getLogger("ragcorp").setLevel(before[2])


def test_without_a_terminal_it_says_so() -> None:
    done = run_here("tui")
    assert done.code == 2
    assert "needs a terminal" in done.err
    assert "ragcorp search" in done.err


def test_json_is_refused() -> None:
    done = run_here("tui", "--json")
    assert (done.code, done.json["error"]["field"]) == (2, "--json")


def test_without_its_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = cli.find_spec
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "textual" else result(name))
    monkeypatch.setattr("ragcorp.interface.cli.servers.commands.on_terminal", lambda: True)
    done = run_here("tui")
    assert done.code == 2
    assert "pip install 'ragcorp[tui]'" in done.err


def test_a_profile_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcorp.interface.cli.servers.commands.on_terminal", lambda: True)
    done = run_here("tui", "--profile", "s3cret")
    assert done.code == 2
    assert "There is no such profile." in done.err
    assert "files, grep" in done.err
    assert "s3cret" not in done.err


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_colour(environment: dict[str, str], coloured: bool) -> None:
    assert has_colour(environment) == coloured


def test_logs_are_held_back_and_then_written() -> None:
    class Written(logging.Handler):
        def __init__(self) -> None:
            super().__init__()
            self.messages: list[str] = []

        def emit(self, record: logging.LogRecord) -> None:
            self.messages.append(record.getMessage())

    written, root = Written(), logging.getLogger()
    root.handlers[:] = [written]
    with deferred_logs():
        for number in range(MOST_DEFERRED + 1):
            logging.getLogger("ragcorp.test").error("line %d", number)
        assert written.messages == []
    assert written.messages == [f"line {number}" for number in range(1, MOST_DEFERRED + 1)]
    assert root.handlers == [written]


@dataclass(slots=True, kw_only=True)
class Terminal:
    """A command on a pseudo-terminal."""

    process: subprocess.Popen[bytes]
    master: int
    out: bytearray = field(default_factory=bytearray)

    def wait_for(self, text: str, *, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while text.encode() not in self.out:
            assert time.monotonic() < deadline, self.out[-2000:].decode(errors="replace")
            assert self.read(), self.out[-2000:].decode(errors="replace")

    def read(self) -> bool:
        """Read what has come; False at the end."""
        if select.select([self.master], [], [], 0.2)[0]:
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                return False
            self.out += piece
            return bool(piece)
        return self.process.poll() is None

    def key(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def ended(self) -> int:
        while self.read():
            pass
        return self.process.wait(timeout=30)


@contextmanager
def on_terminal(*arguments: str, env: dict[str, str]) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    process = subprocess.Popen(
        [sys.executable, "-m", "ragcorp", *arguments],
        env=environment({"TERM": "xterm-256color", **env}),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    before = termios.tcgetattr(slave)
    try:
        yield Terminal(process=process, master=master)
        assert termios.tcgetattr(slave)[3] == before[3]
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)
        os.close(slave)


def test_on_a_terminal(dsn: str, tmp_path: Path) -> None:
    (tmp_path / "viajes.md").write_text("# Viajes\n\nEl hotel, hasta 95 € la noche.\n", encoding="utf-8")
    env = {"DATABASE_URL": dsn, "ALLOWED_PATHS": f"docs={tmp_path}"}
    with on_terminal("tui", "--verbose", env=env) as terminal:
        terminal.wait_for("Ready.")
        terminal.key("señal hotel".encode())
        terminal.wait_for("viajes.md")
        terminal.key(b"\x1b[200~ de la\r\nnoche\x1b[201~")
        terminal.wait_for("de la noche")
        terminal.key(b"\x11")
        assert terminal.ended() == 0
    assert LEAVE in terminal.out
    screen, _, _ = bytes(terminal.out).partition(LEAVE)
    assert b"Traceback" not in terminal.out
    assert b" DEBUG ragcorp" not in screen.partition(b"\x1b[?1049h")[2]
    assert str(tmp_path).encode() not in screen.partition(b"\x1b[?1049h")[2]


def test_a_signal_gives_the_terminal_back(dsn: str) -> None:
    with on_terminal("tui", env={"DATABASE_URL": dsn, "NO_COLOR": "1"}) as terminal:
        terminal.wait_for("Ready.")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.ended() == 130
    assert LEAVE in terminal.out
    assert b"\x1b[38;2" not in terminal.out
