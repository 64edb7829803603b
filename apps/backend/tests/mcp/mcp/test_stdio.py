"""`ragcorp mcp` as the process that an assistant starts: over the SDK's client and by hand."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from ragcorp.infrastructure.embedded_postgres import status
from support.mcp.fakes import Log, text_of
from support.mcp.serving import INITIALIZE
from support.processes.command_line import environment, run_apart

CANARY = "canario-7f3a"
COMMAND = (sys.executable, "-m", "ragcorp", "mcp")


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Where a data folder and a root lie; the server's user can reach it, also where the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="ragcorp-mcp-"))
    folder.chmod(0o755)
    (folder / "docs").mkdir()
    (folder / "docs" / "marco.md").write_text("# Marco\n\nEl plazo es de 30 días, expediente REQ-2026-014.\n")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def variables(place: Path, **others: str) -> dict[str, str]:
    """The environment: what the command needs, and no embedding model."""
    return environment({"RAGCORP_DATA_DIR": str(place / "data"), "ALLOWED_PATHS": str(place / "docs"), **others})


def connected(place: Path, mode: str, log: Log, **others: str) -> Client:
    parameters = StdioServerParameters(command=COMMAND[0], args=list(COMMAND[1:]), env=variables(place, **others))
    return Client(parameters, mode=mode, logging_callback=log, log_level="info")


class ByHand:
    """The process with its pipes: a line is a message."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            COMMAND, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ask(self, message: Mapping[str, Any]) -> Any:
        """Return the answer; what comes before it may be messages to the log, and errors of no request."""
        self.write(json.dumps(message) + "\n")
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == message["id"]:
                return answer
            assert CANARY not in line
        raise AssertionError("it ended without an answer")

    def read(self, number: int) -> list[Any]:
        """Return the next messages."""
        assert self.process.stdout is not None
        return [json.loads(self.process.stdout.readline()) for _ in range(number)]

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def finish(self) -> tuple[int, str, str]:
        """Close stdin, and return the exit code, what else was written to stdout, and stderr."""
        out, err = self.process.communicate(timeout=100)
        return self.process.returncode, out, err


@pytest.mark.anyio
async def test_two_assistants_work_with_nothing_but_a_root_and_a_data_folder(place: Path) -> None:
    old_log, new_log = Log(), Log()
    async with connected(place, "legacy", old_log) as old, connected(place, "auto", new_log) as new:
        for client in (old, new, old):
            assert "hybrid_search" in [tool.name for tool in (await client.list_tools()).tools]
            hybrid = await client.call_tool(
                "hybrid_search", {"semantic_query": "plazo", "exact_keywords": "REQ-2026-014"}
            )
            grep = await client.call_tool("grep_search", {"query": "30 días"})
            read = await client.call_tool("read_file", {"path": "marco.md", "line_start": 3})
            refused = await client.call_tool("read_file", {"path": f"../{CANARY}", "zoom": 1})
            assert "Evidence: docs/marco.md:1-3" in text_of(hybrid)
            assert "> 3: El plazo es de 30 días, expediente REQ-2026-014." in text_of(grep)
            assert text_of(read) == "El plazo es de 30 días, expediente REQ-2026-014."
            assert refused.is_error
            assert CANARY not in text_of(refused)
        assert status(place / "data").running
    assert [said["tool"] for said in new_log.said] == ["hybrid_search", "grep_search"]
    assert [said["tool"] for said in old_log.said] == ["hybrid_search", "grep_search"] * 2
    assert new_log.said[1]["message"].startswith("grep_search: 1 passage in 1 file, ")
    assert not status(place / "data").running


def test_it_ends_with_its_input_and_writes_nothing_but_messages(place: Path) -> None:
    server = ByHand(variables(place))
    server.write("\n{\n[1]\n" + "[" * 10_000 + "\n" + CANARY + "\n")
    assert server.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "ragcorp"
    call = {"name": "memory_search", "arguments": {"query": "x"}}
    assert not server.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})["result"]["isError"]
    code, out, err = server.finish()
    assert (code, out) == (0, ""), err
    assert "Traceback" not in err
    assert CANARY not in err
    assert not status(place / "data").running


def test_what_is_no_message_is_answered_by_its_id_and_not_repeated(place: Path) -> None:
    server = ByHand(variables(place))
    server.ask(INITIALIZE)
    call = '"jsonrpc": "2.0", "method": "tools/call"'
    lines = (
        f'{{{call}, "id": 2, "params": {{"name": "ask", "arguments": {{"query": "{CANARY} \\ud83d"}}}}}}',
        f'{{{call}, "id": "tres", "params": {{"{CANARY}": NaN}}}}',
        f'[{{{call}, "id": 4}}, {{{call}, "id": 5}}, "{CANARY}"]',
        f'{{{call}, "id": 5.5}}',
        f"{CANARY}",
        "",
        f'{{{call}, "params": {{"{CANARY}": []}}}}',  # a notification, which nobody knows
    )
    server.write("\n".join(lines) + "\n")
    wanted = [(2, -32700), ("tres", -32700), (4, -32600), (5, -32600), (None, -32600), (None, -32700)]
    answers = server.read(len(wanted))
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == wanted
    assert CANARY not in json.dumps(answers)
    assert server.ask({"jsonrpc": "2.0", "id": 6, "method": "ping"})["result"] == {}
    code, out, err = server.finish()
    assert (code, out) == (0, "")
    assert CANARY not in err


def test_it_answers_before_the_database_is_open_and_ends_while_it_opens(place: Path) -> None:
    another = place / "fresh"
    server = ByHand(variables(place, RAGCORP_DATA_DIR=str(another)))
    server.ask(INITIALIZE)
    tools = server.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert len(tools["result"]["tools"]) == 7
    code, out, err = server.finish()
    assert (code, out) == (0, ""), err
    assert "Traceback" not in err
    assert not status(another).running


@pytest.mark.parametrize(("number", "opened"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_signal_ends_it_while_its_input_is_open(place: Path, number: signal.Signals, opened: bool) -> None:
    server = ByHand(variables(place))
    server.ask(INITIALIZE)
    if opened:
        call = {"name": "memory_search", "arguments": {"query": "x"}}
        server.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
        assert status(place / "data").running
    os.kill(server.process.pid, number)
    assert server.process.wait(timeout=100) == 0
    _, _, err = server.finish()
    assert "Traceback" not in err
    assert not status(place / "data").running


def test_a_client_that_vanishes_ends_it(place: Path) -> None:
    server = ByHand(variables(place))
    server.ask(INITIALIZE)
    assert server.process.stdout is not None
    server.process.stdout.close()
    for number in range(2, 4):
        server.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}) + "\n")
    assert server.process.wait(timeout=100) == 0
    assert server.process.stderr is not None
    err = server.process.stderr.read()
    assert "Traceback" not in err
    assert "unexpected" not in err
    assert not status(place / "data").running


@pytest.mark.anyio
async def test_a_database_that_cannot_be_opened_is_an_error_of_the_call(place: Path) -> None:
    async with connected(place, "auto", Log(), DATABASE_URL=f"postgresql://nadie:{CANARY}@127.0.0.1:1/x") as client:
        for _ in range(2):
            result = await client.call_tool("grep_search", {"query": "plazo"})
            assert result.is_error
            assert "database" in text_of(result).lower()
            assert CANARY not in text_of(result)
        assert len((await client.list_tools()).tools) == 7


def test_settings_that_are_not_valid_end_it_at_once() -> None:
    done = run_apart("mcp", env={"RRF_K": CANARY})
    assert done.code == 2
    assert "RRF_K" in done.err
    assert CANARY not in done.err
    assert done.raw == b""
