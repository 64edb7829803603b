"""Runs `ragcorp`, inside the test's process or in one of its own."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragcorp.interface.cli.app import run_command_line
from ragcorp.main.commands.cli import make_services

BACKEND = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended, and what it wrote."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def json(self) -> Any:
        """stdout as the JSON document that it must be, alone."""
        return json.loads(self.out)


def run_here(*arguments: str) -> Done:
    """Run a command in this process."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    code = run_command_line(make_services(), list(arguments), stdout=out, stderr=err)
    out.flush()
    err.flush()
    assert isinstance(out.buffer, io.BytesIO)
    assert isinstance(err.buffer, io.BytesIO)
    return Done(code=code, raw=out.buffer.getvalue(), err=err.buffer.getvalue().decode())


def run_apart(*arguments: str, env: Mapping[str, str] | None = None, timeout: float = 60) -> Done:
    """Run a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "ragcorp", *arguments],
        env=environment(env),
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
        check=False,
    )
    return Done(code=done.returncode, raw=done.stdout, err=done.stderr.decode())


def environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(BACKEND), "EMBEDDING_PROVIDER": "none", **(env or {})}


@dataclass(slots=True, kw_only=True)
class Running:
    """A command that goes on until it is stopped. It has a process group, as on a terminal."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, *arguments: str, env: Mapping[str, str] | None = None) -> Running:
        running = cls(
            process=subprocess.Popen(
                [sys.executable, "-m", "ragcorp", *arguments],
                env=environment(env),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        )
        threading.Thread(target=running._read, daemon=True).start()
        return running

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(iter(self.process.stderr.readline, ""))

    def wait_for(self, pattern: str, *, seconds: float = 60) -> re.Match[str]:
        """Wait for a line on stderr."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in list(self.lines):
                if result := re.search(pattern, line):
                    return result
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.kill()
        raise AssertionError(f"no line like {pattern!r} in: {''.join(self.lines)}")

    def stop(self, number: signal.Signals = signal.SIGINT, *, seconds: float = 30) -> Done:
        """Send a signal to the whole group, as Ctrl-C does."""
        os.killpg(self.process.pid, number)
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        assert self.process.stdout is not None
        return Done(code=code, raw=self.process.stdout.read().encode(), err="".join(self.lines))

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
