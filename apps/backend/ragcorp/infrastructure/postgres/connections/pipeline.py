"""A pipeline that sends what it has in one piece, when somebody waits for it.

psycopg's own looks at the socket with each command (two system calls, and a turn of the waiting loop), and asks for the
results once more after its Sync: for the two to four short statements of a search that costs more than the statements.
"""

from __future__ import annotations

from typing import Self

from psycopg import AsyncPipeline
from psycopg.abc import PipelineCommand, PQGen
from psycopg.generators import send


class BufferedPipeline(AsyncPipeline):
    """Leaves commands in libpq's buffer until a result is fetched, or until the end.

    libpq sends what exceeds its buffer earlier, and while it waits to send takes in what arrives, so that neither side
    can hold the other up.
    """

    async def __aenter__(self) -> Self:
        """Begin, whole or not at all.

        psycopg gives way to others where the loop has been busy, also once it has begun. Who is cancelled there would
        never end what they began, and all that the connection is asked afterwards would be a part of it.
        """
        level = self.level
        if level == 0:
            list(self._enter_gen())  # which sends nothing, and so waits for nothing
            return self
        try:
            return await super().__aenter__()
        except BaseException:
            self.level = level
            raise

    def _communicate_gen(self) -> PQGen[None]:
        while self.command_queue:
            self.command_queue.popleft()()
        yield from ()

    def _exit_gen(self) -> PQGen[None]:
        self._enqueue_sync()
        yield from self._communicate_gen()
        yield from send(self.pgconn)
        yield from self._fetch_gen(flush=False)


def queue(pipeline: AsyncPipeline, command: PipelineCommand) -> None:
    """Send a command ahead of what follows, as psycopg does its own: a cursor would cost as much as a search's."""
    pipeline.command_queue.append(command)
    pipeline.result_queue.append(None)
