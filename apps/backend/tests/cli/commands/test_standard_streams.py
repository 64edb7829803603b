"""stdin, stdout and stderr may be closed, full, or read by nobody: commands go on, and a service serves."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.processes.command_line import environment

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")

RAGCORP = f"exec {sys.executable} -m ragcorp"


def shell(line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["/bin/sh", "-c", line], env=environment(), capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize(("redirection", "said"), [("2>&-", b"ragcorp "), ("<&- >&- 2>&-", b"")])
def test_a_command_has_its_streams_although_they_were_closed(redirection: str, said: bytes) -> None:
    done = shell(f"{RAGCORP} --version {redirection}")
    assert (done.returncode, done.stdout[:8], done.stderr) == (0, said, b"")


def test_an_error_that_cannot_be_told_keeps_its_exit_code() -> None:
    assert shell(f"{RAGCORP} backup 2>/dev/full").returncode == 2


@contextmanager
def pipe_that_nobody_reads(*, full: bool) -> Iterator[int]:
    reading, writing = os.pipe()
    if full:
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, b"x")
        except BlockingIOError:
            os.set_blocking(writing, True)
    else:
        os.close(reading)
    yield writing
    os.close(writing)
    if full:
        os.close(reading)


@pytest.mark.parametrize("kind", ["full disk", "full pipe", pytest.param("reader gone", marks=pytest.mark.soak)])
def test_a_service_serves_though_nobody_can_be_told(dsn: str, kind: str) -> None:
    """Also its JSON document goes to stdout in vain, or stdout is closed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ExitStack() as stack:
        if kind == "full disk":
            sink = stack.enter_context(Path("/dev/full").open("w")).fileno()
        else:
            sink = stack.enter_context(pipe_that_nobody_reads(full=kind == "full pipe"))
        redirection = ">&-" if kind == "full pipe" else "--json >&2"
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"{RAGCORP} serve --port {port} {redirection}"],
            env=environment({"DATABASE_URL": dsn}),
            stderr=sink,
            stdin=subprocess.DEVNULL,
        )
        try:
            assert health(process, port) == {"status": "ok"}
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
            process.wait()


def health(process: subprocess.Popen[bytes], port: int) -> object:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, f"it ended with code {process.returncode}"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30) as response:
                return json.load(response)
        except OSError:
            time.sleep(0.05)
    raise AssertionError("it does not listen")
