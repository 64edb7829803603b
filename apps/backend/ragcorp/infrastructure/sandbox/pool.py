"""A few children that read one document each at a time, started when they are needed."""

import asyncio
import json
import logging
import os
import pickle
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import anyio.to_thread

from ragcorp.domain.exceptions import ConfigurationError, UnreadableDocumentError
from ragcorp.infrastructure.child_environment import child_environment
from ragcorp.infrastructure.sandbox.confinement import OUT_OF_MEMORY
from ragcorp.infrastructure.sandbox.messages import LENGTH, Answer, answer_of, crashed

Result = TypeVar("Result")

IDLE_SECONDS = 15.0
"""How long an idle child is kept: it has about 200 MB, and takes a second to start."""

START_SECONDS = 60.0
END_SECONDS = 5.0
BYTES_A_SECOND = 100_000
"""A larger file has more time."""
WALL = 3
"""Seconds by the clock for each second of CPU time, on a busy machine."""

_SETTINGS_OF_PARSERS = ("TESSDATA_PREFIX", "KREUZBERG_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONHOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """``seconds`` of CPU time for a small file; ``memory_bytes`` and number of the ``processes``.

    The remedies are advice for a file that reaches a limit.
    """

    seconds: float = 10.0
    memory_bytes: int = 1 << 30
    processes: int = 2
    time_remedy: str = "Split it, or raise PARSE_TIMEOUT_SECONDS."
    memory_remedy: str = "Split it, or raise PARSE_MEMORY_MB."


class _CrashedError(Exception):
    """The child ended without an answer."""


class _Child:
    """One process. A call that does not end in an answer leaves it useless: ``end`` it."""

    retirement: asyncio.TimerHandle
    """Set while it is idle."""
    used = False
    """Whether it has answered a call."""

    def __init__(self, process: asyncio.subprocess.Process, *, most_bytes: int) -> None:
        assert process.stdin is not None  # noqa: S101 - for the type checker
        assert process.stdout is not None  # noqa: S101
        self.process = process
        self._calls, self._answers = process.stdin, process.stdout
        self._most_bytes = most_bytes

    async def answer(self, call: bytes = b"") -> bytes:
        """Raises EOFError when the process ended, MemoryError for an answer beyond its limit."""
        try:
            if call:
                self._calls.write(LENGTH.pack(len(call)) + call)
                await self._calls.drain()
            (length,) = LENGTH.unpack(await self._answers.readexactly(LENGTH.size))
            if length > self._most_bytes:
                raise MemoryError
            return await self._answers.readexactly(length)
        except ConnectionError:
            raise EOFError from None

    async def exit_code(self) -> int:
        """Return the exit code of a process that closed its pipe. Raises _CrashedError if it does not end."""
        try:
            async with asyncio.timeout(END_SECONDS):
                return await self.process.wait()
        except TimeoutError:
            raise _CrashedError from None

    async def end(self) -> None:
        """Kill the process with its descendants, and read its pipe to the end, which closes both."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self._calls.close()
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self._answers.read()
        await self.process.wait()


class ChildPool:
    """Runs work in children that start as ``module`` with ``options``; see the port ``ReadingPool``.

    ``subject`` is what small work gets in this process. A crash is retried once in a new child.
    """

    def __init__(self, *, subject: object, module: str, options: Mapping[str, object], limits: Limits) -> None:
        self._subject = subject
        self._module = module
        self._options = {**options, "memory_bytes": limits.memory_bytes}
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.processes)
        self._idle: list[_Child] = []
        self._children: set[_Child] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, work: Callable[..., Result], *arguments: object, size: int, apart: bool) -> Result:
        if not apart:
            return await anyio.to_thread.run_sync(work, self._subject, *arguments)
        seconds = self._limits.seconds + size / BYTES_A_SECOND
        call = await anyio.to_thread.run_sync(pickle.dumps, (work, arguments, seconds), pickle.HIGHEST_PROTOCOL)
        async with self._slots:
            try:
                answer = await self._answer(call, seconds)
            except _CrashedError:
                try:
                    answer = await self._answer(call, seconds, fresh=True)
                except _CrashedError:
                    raise crashed() from None
        for name, level, text in answer.records:
            logging.getLogger(name).log(level, "%s", text)
        return cast("Result", answer.result())

    async def aclose(self) -> None:
        while self._children or self._tasks:
            for child in tuple(self._children):
                self._drop(child)
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, call: bytes, seconds: float, *, fresh: bool = False) -> Answer:
        child = await self._child(fresh=fresh)
        answer = None
        try:
            async with asyncio.timeout(WALL * seconds):
                payload = await child.answer(call)
            answer = await _read(payload)
        except TimeoutError:
            raise self._too_slow(seconds) from None
        except MemoryError:
            raise self._too_large() from None
        except EOFError:
            raise self._ended(await child.exit_code(), seconds, used_before=child.used) from None
        finally:
            if answer is None or answer.last or fresh:
                self._drop(child)
            else:
                self._rest(child)
        return answer

    async def _child(self, *, fresh: bool) -> _Child:
        while self._idle and not fresh:
            child = self._idle[-1]
            if child.process.returncode is not None:
                self._drop(child)
                continue
            child.retirement.cancel()
            return self._idle.pop()
        # a start that is cancelled half way would leave a process running
        starting = self._task(self._start())
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._started)
            raise

    def _started(self, starting: asyncio.Task[_Child]) -> None:
        if not starting.cancelled() and starting.exception() is None:
            self._drop(starting.result())

    def _task(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _start(self) -> _Child:
        environment = child_environment(also=_SETTINGS_OF_PARSERS)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                self._module,
                json.dumps({**self._options, "parent": os.getpid()}),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,
            )
        except OSError:  # no memory, or no place for another process
            raise _not_started() from None
        child = _Child(process, most_bytes=self._limits.memory_bytes)
        self._children.add(child)
        try:
            async with asyncio.timeout(START_SECONDS):
                await child.answer()
        except (EOFError, TimeoutError):
            self._drop(child)
            raise _not_started() from None
        return child

    def _rest(self, child: _Child) -> None:
        child.used = True
        child.retirement = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._drop, child)
        self._idle.append(child)

    def _drop(self, child: _Child) -> None:
        if child in self._idle:
            child.retirement.cancel()
            self._idle.remove(child)
        if child in self._children:
            self._children.remove(child)
            self._task(child.end())

    def _ended(self, code: int, seconds: float, *, used_before: bool) -> Exception:
        if code == -signal.SIGXCPU:
            return self._too_slow(seconds)
        if code == -signal.SIGKILL and used_before:  # perhaps before it got this file: a new child will tell
            return _CrashedError()
        # the kernel kills what uses up the memory of the machine
        return self._too_large() if code in (OUT_OF_MEMORY, -signal.SIGKILL) else _CrashedError()

    def _too_large(self) -> UnreadableDocumentError:
        limit = f"{self._limits.memory_bytes >> 20} MB"
        return UnreadableDocumentError(
            f"Reading the file takes more than {limit} of memory.",
            field="content",
            limit=limit,
            remedy=self._limits.memory_remedy,
            reason="too_large_in_memory",
        )

    def _too_slow(self, seconds: float) -> UnreadableDocumentError:
        limit = f"{seconds:.0f} seconds"
        return UnreadableDocumentError(
            f"Reading the file takes longer than {limit}.",
            field="content",
            limit=limit,
            remedy=self._limits.time_remedy,
            reason="too_slow",
        )


async def _read(payload: bytes) -> Answer:
    try:
        return await anyio.to_thread.run_sync(answer_of, payload)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - a child that was taken over may send anything
        raise _CrashedError from None


def _not_started() -> ConfigurationError:
    return ConfigurationError("The process that reads files does not start.")
