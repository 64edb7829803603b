"""Children that read files: what ends them, what they may not do, and what is left of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.exceptions import (
    ConfigurationError,
    MissingExtraError,
    PayloadTooLargeError,
    UnreadableDocumentError,
)
from ragcorp.domain.principal import Sensitivity
from ragcorp.infrastructure.sandbox import messages
from ragcorp.infrastructure.sandbox import pool as pool_module
from ragcorp.infrastructure.sandbox.messages import Answer, answer_of
from ragcorp.infrastructure.sandbox.pool import ChildPool, Limits
from support.parsing import samples, works
from support.parsing.reading import child_pool, read_apart

pytestmark = pytest.mark.anyio

MEMORY = 256 << 20
SMALL = Limits(seconds=1.0, memory_bytes=MEMORY, processes=2)
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


async def run(pool: ChildPool, work: Any, *arguments: object) -> Any:
    return await pool.run(work, *arguments, size=0, apart=True)


async def refused(pool: ChildPool, work: Any, *arguments: object) -> UnreadableDocumentError:
    with pytest.raises(UnreadableDocumentError) as caught:
        await run(pool, work, *arguments)
    assert caught.value.remedy
    return caught.value


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "ragcorp.main.wiring.reading" in child.cmdline()]


async def test_a_child_is_used_again() -> None:
    async with child_pool(SMALL) as pool:
        first = await run(pool, works.pid)
        assert first not in (os.getpid(), 0)
        assert await run(pool, works.pid) == first
    assert children() == []


async def test_a_pdf_is_read_where_none_was_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    parsed = await read_apart("a.pdf", samples.pdf_file())
    assert parsed.text


async def test_small_work_needs_no_child() -> None:
    async with child_pool(SMALL) as pool:
        assert await pool.run(works.pid, size=0, apart=False) == os.getpid()
        assert children() == []


@pytest.mark.parametrize(("work", "arguments"), [(works.spin, ()), (works.sleep, (60,))])
async def test_what_takes_too_long_is_ended(work: Any, arguments: tuple[object, ...]) -> None:
    async with child_pool(SMALL) as pool:
        error = await refused(pool, work, *arguments)
        assert (error.reason, error.limit) == ("too_slow", "1 seconds")
        for child in children():
            await gone(child.pid)
        assert await run(pool, works.pid)


@linux_only
@pytest.mark.parametrize(("work", "megabytes"), [(works.fill, 2_000), (works.grab, 20_000)])
async def test_what_takes_too_much_memory_is_ended(work: Any, megabytes: int) -> None:
    async with child_pool(SMALL) as pool:
        error = await refused(pool, work, megabytes)
        assert (error.reason, error.limit) == ("too_large_in_memory", "256 MB")
        assert await run(pool, works.pid)


async def test_a_crash_is_an_answer_and_costs_no_other_file() -> None:
    async with child_pool(SMALL) as pool:
        before = await run(pool, works.pid)
        assert (await refused(pool, works.segfault)).reason == "crashed"
        assert await run(pool, works.pid) != before


async def test_a_fault_of_a_parser_is_logged_and_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with child_pool(SMALL) as pool:
        assert (await refused(pool, works.fail, "in its depths")).reason == "crashed"
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "ValueError: in its depths" in record.getMessage()


async def test_refusals_come_as_they_are() -> None:
    async with child_pool(SMALL) as pool:
        with pytest.raises(PayloadTooLargeError) as large:
            await run(pool, works.refuse)
        assert (large.value.message, large.value.field, large.value.limit) == ("too much", "content", "1")
        with pytest.raises(MissingExtraError) as missing:
            await run(pool, works.miss)
        assert missing.value.field == "parsers"


async def test_logs_and_prints_of_a_library(caplog: pytest.LogCaptureFixture) -> None:
    async with child_pool(SMALL) as pool:
        assert await run(pool, works.log, "año") == "año"
        assert await run(pool, works.shout) == "done"
    assert ("a.library", logging.WARNING, "seen: año") in caplog.record_tuples


async def test_a_child_that_keeps_memory_is_replaced() -> None:
    async with child_pool(Limits(memory_bytes=1 << 30)) as pool:
        first = await run(pool, works.keep, 250)
        assert await run(pool, works.pid) != first


async def test_an_idle_child_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", 0.05)
    async with child_pool(SMALL) as pool:
        first = await run(pool, works.pid)
        await gone(first)
        assert await run(pool, works.pid) != first


async def test_a_child_that_died_while_idle_is_replaced() -> None:
    async with child_pool(SMALL) as pool:
        first = await run(pool, works.pid)
        os.kill(first, signal.SIGKILL)
        await gone(first)
        assert await run(pool, works.pid) != first


async def test_who_leaves_ends_the_work() -> None:
    async with child_pool(Limits(seconds=60, processes=1)) as pool:
        task = asyncio.create_task(run(pool, works.spin))
        while not any(child.cpu_times().user > 1 for child in children()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        (child,) = children()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone(child.pid)
        assert await run(pool, works.pid)


async def test_work_waits_for_a_child_and_the_loop_for_none() -> None:
    async with child_pool(Limits(seconds=60, processes=2)) as pool:
        tasks = [asyncio.create_task(run(pool, works.sleep, 0.2)) for _ in range(6)]
        while not all(task.done() for task in tasks):
            assert len(children()) <= 2
            await asyncio.sleep(0.01)
        assert [task.result() for task in tasks] == [None] * 6


@pytest.mark.parametrize("work", [works.connect, works.run])
async def test_neither_network_nor_programs(work: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with child_pool(SMALL) as pool:
        assert (await refused(pool, work)).reason == "crashed"
    assert "PermissionError" in caplog.text


@linux_only
@pytest.mark.parametrize("work", [works.native_socket, works.native_exec])
async def test_native_code_has_neither(work: Any) -> None:
    async with child_pool(SMALL) as pool:
        assert await run(pool, work) == 1  # EPERM


@linux_only
async def test_a_child_signals_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with child_pool(SMALL) as pool:
        await refused(pool, works.signal_parent)
    assert "PermissionError" in caplog.text


async def test_no_file_is_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with child_pool(SMALL) as pool:
        await refused(pool, works.write, str(tmp_path / "a"))
    assert "File too large" in caplog.text
    assert (tmp_path / "a").read_bytes() == b""


async def test_no_secret_is_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ana:CANARY9c1@127.0.0.1/a")
    async with child_pool(SMALL) as pool:
        assert "CANARY9c1" not in str(await run(pool, works.environment))


@pytest.mark.parametrize("work", [works.evil, works.evil_by_attribute])
async def test_an_answer_is_data(work: Any) -> None:
    async with child_pool(SMALL) as pool:
        assert (await refused(pool, work)).reason == "crashed"
    assert not Path("/tmp/evil").exists()


PARENT = """
import asyncio, sys
from support.parsing import samples, works
from support.parsing.reading import child_pool, read_apart
from ragcorp.infrastructure.sandbox.pool import Limits

async def main():
    async with child_pool(Limits(seconds=60)) as pool:
        print(await pool.run(works.pid, size=0, apart=True), flush=True)
        await pool.run(works.{work}, size=0, apart=True)
        sys.stdin.read()

asyncio.run(main())
"""


@pytest.mark.parametrize("work", ["spin", "pid"])
async def test_no_child_outlives_a_killed_parent(work: str) -> None:
    parent = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", PARENT.format(work=work)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert psutil.pid_exists(child)
    parent.kill()
    parent.wait()
    await gone(child)


async def gone(pid: int) -> None:
    end = time.monotonic() + 20
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


def payload(target: type, attribute: str, value: object) -> bytes:
    """Return an answer that sets an attribute of a class where it is unpickled."""
    state = pickle.dumps((None, {attribute: value}), 2)[2:-1]
    name = f"c{target.__module__}\n{target.__qualname__}\n".encode()
    answer = pickle.dumps(Answer(value="hola"), 2)[2:-1]
    return b"\x80\x02" + name + state + b"b0" + answer + b"."


@pytest.mark.parametrize(
    ("target", "attribute"), [(Sensitivity, "_value2member_map_"), (Sensitivity, "owned"), (ParsedText, "text")]
)
def test_an_answer_changes_no_class(target: type, attribute: str) -> None:
    before = dict(vars(target))
    with contextlib.suppress(Exception):
        assert answer_of(payload(target, attribute, {})).value == "hola"
    assert dict(vars(target)) == before
    assert Sensitivity(Sensitivity.RESTRICTED.value) is Sensitivity.RESTRICTED


async def test_an_answer_may_not_touch_how_answers_are_read() -> None:
    reader = type("Reader", (), {"__module__": messages.__name__, "__qualname__": "_Values"})
    with pytest.raises(pickle.UnpicklingError):
        answer_of(payload(reader, "find_class", None))


@pytest.mark.parametrize("answer", [b"", b"\x80\x05", b"\x80\x05N.", b"\x80\x05]q\x00X."])
async def test_an_answer_that_is_none_is_a_crash(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async with child_pool(SMALL) as pool:
        assert await run(pool, works.pid)
        real = pool_module._Child.answer

        async def answered(child: Any, call: bytes = b"") -> bytes:
            given = await real(child, call)
            return answer if call else given

        with monkeypatch.context() as patched:
            patched.setattr(pool_module._Child, "answer", answered)
            assert (await refused(pool, works.pid)).reason == "crashed"
        assert await run(pool, works.pid)


async def test_a_child_that_closes_its_pipe_and_lives_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "END_SECONDS", 0.2)
    async with child_pool(SMALL) as pool:
        assert await run(pool, works.pid)
        real = pool_module._Child.answer

        async def answered(child: Any, call: bytes = b"") -> bytes:
            if call:
                raise EOFError
            return await real(child, call)

        with monkeypatch.context() as patched:
            patched.setattr(pool_module._Child, "answer", answered)
            assert (await refused(pool, works.pid)).reason == "crashed"
        assert await run(pool, works.pid)
    assert children() == []


async def test_a_child_that_cannot_start_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def started(*_: object, **__: object) -> None:
        raise BlockingIOError

    async with child_pool(SMALL) as pool:
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "create_subprocess_exec", started)
            with pytest.raises(ConfigurationError):
                await run(pool, works.pid)
        assert await run(pool, works.pid)
