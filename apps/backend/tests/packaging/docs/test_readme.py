"""Every command and example of README.md and docs/usage.md runs as written."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragcorp.infrastructure.embedded_postgres import EmbeddedPostgres

ROOT = Path(__file__).resolve().parents[5]
README = (ROOT / "README.md").read_text(encoding="utf-8")
USAGE = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language, the README's first."""
    return re.findall(rf"```{language}\n(.*?)```", README + USAGE, re.DOTALL)


def commands() -> list[str]:
    """Return each command once; a command ends where the next prompt begins, comments left out."""
    result = [
        "\n".join(line.split("   #")[0].rstrip() for line in command.splitlines())
        for block in blocks("console")
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)
        if command.strip()
    ]
    return list(dict.fromkeys(result))


COMMANDS = commands()
MAKE = [command for command in COMMANDS if command.startswith("make ")]
PIP = [command for command in COMMANDS if command.startswith("pip ")]
CURL = [command for command in COMMANDS if command.startswith("curl ")]
SERVE = [command for command in COMMANDS if command.startswith("ragcorp serve")]
ONCE = [command for command in COMMANDS if "ragcorp " in command and command not in (*SERVE, *PIP)]

DOCUMENT = "# Ticket REQ-2026-014\n\nEl plazo de entrega es de 30 días hábiles. Lo pide Acme Corporation.\n"


@pytest.fixture(scope="module")
def workplace() -> Iterator[Path]:
    """A folder with documents in it, and a data folder that the database server's user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="ragcorp-readme-"))
    folder.chmod(0o755)
    (folder / "documentos").mkdir()
    (folder / "documentos" / "ticket.md").write_text(DOCUMENT, encoding="utf-8")
    # commands join this server: that each alone starts and stops one is what the tests of the demo show
    with EmbeddedPostgres(data_dir=folder / "datos", settings={"fsync": "off"}):
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def environment(workplace: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RAGCORP_DATA_DIR": str(workplace / "datos"),
        "EMBEDDING_PROVIDER": "none",
    }


@pytest.fixture(scope="module")
def port(workplace: Path, environment: dict[str, str]) -> Iterator[int]:
    """The port of a running `ragcorp serve`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
    server = subprocess.Popen([*SERVE[0].split(), "--port", str(free)], cwd=workplace, env=environment)
    try:
        deadline = time.monotonic() + 60
        while True:
            assert server.poll() is None, "the service ended"
            assert time.monotonic() < deadline, "the service did not start"
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{free}/readyz", timeout=2):
                    break
            except OSError:
                time.sleep(0.2)
        yield free
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=30)


def test_every_command_is_of_a_kind_that_is_run_here() -> None:
    existing = {*MAKE, *PIP, *CURL, *SERVE, *ONCE}
    assert [command for command in COMMANDS if command not in existing] == []
    assert MAKE
    assert PIP
    assert CURL
    assert SERVE
    assert ONCE


def test_the_first_two_commands_stand_in_the_first_screen() -> None:
    first_screen = README.splitlines()[:20]
    assert any(line.startswith("$ make run") for line in first_screen)
    assert any(line.startswith("$ make test") for line in first_screen)


@pytest.mark.parametrize("command", MAKE)
def test_make_knows_its_targets(command: str) -> None:
    planned = subprocess.run([*command.split(), "-n"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert planned.returncode == 0, planned.stderr


@pytest.mark.parametrize("command", PIP)
def test_the_extras_that_are_installed_exist(command: str) -> None:
    provided = importlib.metadata.metadata("ragcorp").get_all("Provides-Extra") or []
    for extra in re.findall(r"\[(\w+)\]", command):
        assert extra in provided


@pytest.mark.parametrize("command", ONCE)
def test_a_ragcorp_command_succeeds(command: str, workplace: Path, environment: dict[str, str]) -> None:
    # `ragcorp ingest` comes first, so that the others find a document
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=workplace,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=90,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "--conversation" in command:
        assert re.search(r"\[\d\]", done.stdout)
    if "¿y cuándo vence?" in command:
        assert "30 de junio" in done.stdout
        assert "asked: ¿y cuándo vence? Acme Corporation" in done.stdout


@pytest.mark.parametrize("command", CURL)
def test_a_curl_command_succeeds(command: str, workplace: Path, port: int) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed: the HTTP examples of docs/usage.md are NOT tested")
    done = subprocess.run(
        ["bash", "-c", command.replace("localhost:8000", f"127.0.0.1:{port}").replace("curl ", "curl --fail ", 1)],
        cwd=workplace,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("{")
    if "/ask" in command:
        assert "30 días" in done.stdout


@pytest.mark.parametrize("example", blocks("python"), ids=["blocking", "async"])
def test_a_library_example_runs(example: str, workplace: Path, environment: dict[str, str]) -> None:
    folder = workplace / "library"
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    assert "30 días hábiles" in done.stdout
    assert "[1]" in done.stdout
