"""Starts the processes of a service, replaces those that end, and counts their limits and metrics together."""

import asyncio
import itertools
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.process_channel.channel import Channel, ChannelClosedError
from ragcorp.interface.http.layers.admission import Limiters
from ragcorp.interface.http.monitoring.merging import Snapshot, added_up, lasting, snapshot_of
from ragcorp.main.service.shutdown import Shutdown
from ragcorp.main.workers.leases import Leases
from ragcorp.main.workers.roles import BACKGROUND, GRACE_SHARE, error_of

LONG_SECONDS = 10.0
"""A process that lived this long is replaced at once; of others that end, each waits longer than the one before."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0

SNAPSHOT_SECONDS = 1.0
"""How long a scrape waits for a process; then its last counts are used."""

KILL_SECONDS = 1.0

ENDED = "ended"
"""Name of the counts of processes that have ended."""

logger = logging.getLogger(__name__)


class Forks:
    """Forks processes from a program that has imported the service, and is started again if it ends."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._orders: socket.socket | None = None
        self._program: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        await self._end()
        ours, theirs = socket.socketpair()
        descriptor = self._listener.fileno()
        with theirs:
            self._program = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "ragcorp.main.workers.forker",
                str(descriptor),
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.DEVNULL,
                pass_fds=(descriptor,),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._orders = ours

    async def fork(self) -> socket.socket:
        """Return the supervisor's end of the channel of a new process."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._order(theirs)
            except OSError:  # the program was killed
                await self.start()
                self._order(theirs)
        return ours

    async def aclose(self) -> None:
        """Fork no more, and close this process's part of the listening socket. The forked processes go on."""
        self._listener.close()
        await self._end()

    async def _end(self) -> None:
        if self._orders is not None:
            self._orders.close()
        if self._program is not None:
            await self._program.wait()

    def _order(self, channel: socket.socket) -> None:
        if self._orders is None:
            raise BrokenPipeError
        socket.send_fds(self._orders, [b"f"], [channel.fileno()])


@asynccontextmanager
async def forking(listener: socket.socket) -> AsyncIterator[Forks]:
    """Start the program that forks processes, which listen on ``listener``: it imports the service meanwhile."""
    forks = Forks(listener)
    await forks.start()
    try:
        yield forks
    finally:
        await forks.aclose()


class Member:
    """One process of the service, while it lives."""

    def __init__(self, name: str, *, limiters: Limiters) -> None:
        self.name = name
        self.leases = Leases(limiters)
        self.counted: Snapshot = ()
        self.pid = 0
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.channel: Channel

    def is_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def failed(self, document: Mapping[str, Any]) -> None:
        if not self.ready.done():
            self.ready.set_exception(error_of(document))

    async def snapshot(self) -> None:
        with suppress(TimeoutError, ChannelClosedError):
            async with asyncio.timeout(SNAPSHOT_SECONDS):
                self.counted = await self.channel.call("snapshot")

    def kill(self) -> None:
        if not self.channel.closed.is_set():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Supervisor:
    """Runs ``workers`` processes that answer requests, and one that works in the background.

    ``setup`` returns what a process of a name is told. The limits of all are counted here, so that they hold whatever
    number of processes there is, and a process that dies returns what it has taken.
    """

    def __init__(
        self,
        forks: Forks,
        *,
        workers: int,
        setup: Callable[[str], dict[str, Any]],
        limiters: Limiters,
        shutdown: Shutdown,
    ) -> None:
        self._forks = forks
        self._names = (BACKGROUND, *map(str, range(1, workers + 1)))
        self._setup = setup
        self._limiters = limiters
        self._shutdown = shutdown
        self._members: dict[str, Member] = {}
        self._ended: Snapshot = ()

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Run until cancelled, then stop every process in order and return.

        ``on_ready`` is called once all answer. Raises the error of a process that cannot start at the beginning.
        """
        keeping: list[asyncio.Task[None]] = []
        try:
            first = [await self._started(name) for name in self._names]
            await asyncio.gather(*(member.ready for member in first))
            keeping = [asyncio.create_task(self._keep(member), name=f"worker {member.name}") for member in first]
            on_ready()
            await asyncio.gather(*keeping)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            self._shutdown.begin()
        finally:
            for task in keeping:
                task.cancel()
            await self._stop()

    async def _keep(self, member: Member) -> None:
        """Replace a process each time that it ends."""
        loop = asyncio.get_running_loop()
        pauses = (min(FIRST_PAUSE_SECONDS * 2**count, LONGEST_PAUSE_SECONDS) for count in itertools.count())
        while True:
            since = loop.time()
            await member.channel.closed.wait()
            logger.warning("worker %s (process %d) ended: another takes its place", member.name, member.pid)
            if loop.time() - since < LONG_SECONDS:
                await asyncio.sleep(next(pauses))
            member = await self._started(member.name)

    async def _started(self, name: str) -> Member:
        member = Member(name, limiters=self._limiters)

        async def setup(pid: int) -> dict[str, Any]:
            member.pid = pid
            return self._setup(name)

        leases = member.leases
        member.channel = await Channel.over(
            await self._forks.fork(),
            handlers={"setup": setup, "acquire": leases.acquire, "enter": leases.enter, "snapshots": self._snapshots},
            listeners={
                "ready": member.is_ready,
                "failed": member.failed,
                "release": leases.release,
                "wake": self._wake,
            },
        )
        member.channel.on_close(lambda: self._forget(member))
        self._members[name] = member
        return member

    def _forget(self, member: Member) -> None:
        member.leases.release_all()
        self._ended = snapshot_of(added_up({"": self._ended, member.name: lasting(member.counted)}))
        member.counted = ()
        if not member.ready.done():
            member.ready.set_exception(ConfigurationError("A process of the service ended before it was ready."))
        member.ready.exception()  # read, so that asyncio does not report it

    async def _embed(self, document_id: str) -> Any:
        """Let the background process embed a batch of a document."""
        try:
            return await self._members[BACKGROUND].channel.call("embed", document_id)
        except ChannelClosedError:
            return 0, 0

    def _wake(self) -> None:
        self._members[BACKGROUND].channel.tell("wake")

    async def _snapshots(self) -> Mapping[str, Snapshot]:
        """Return the metrics of all processes by name, and those that ended ones have left."""
        members = tuple(self._members.values())
        await asyncio.gather(*(member.snapshot() for member in members))
        return {ENDED: self._ended, **{member.name: member.counted for member in members}}

    async def _stop(self) -> None:
        """Let every process end its work within the grace, then kill what is left."""
        members = tuple(self._members.values())
        for member in members:
            member.channel.tell("stop")
        await self._forks.aclose()
        ends = [asyncio.create_task(member.channel.closed.wait()) for member in members]
        hurried = asyncio.create_task(self._hurry(members))
        await asyncio.wait(ends, timeout=self._shutdown.grace_seconds * GRACE_SHARE + KILL_SECONDS)
        hurried.cancel()
        for member in members:
            member.kill()

    async def _hurry(self, members: tuple[Member, ...]) -> None:
        await self._shutdown.hurried.wait()
        for member in members:
            member.channel.tell("hurry")
