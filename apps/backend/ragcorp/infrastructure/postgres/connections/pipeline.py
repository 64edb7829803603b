"""A pipeline that sends its commands together, when a result is fetched.

psycopg's pipeline polls the socket at each command (two system calls and an iteration of the event loop) and fetches
again after its Sync: for the two to four short statements of a search that costs more than the statements.
"""

from typing import Self

from psycopg import AsyncPipeline
from psycopg.abc import PipelineCommand, PQGen
from psycopg.generators import send


class BufferedPipeline(AsyncPipeline):
    """Keeps commands in libpq's buffer until a result is fetched, or until the end.

    libpq sends a full buffer earlier, and reads while it waits to send, so that neither side blocks the other.
    """

    async def __aenter__(self) -> Self:
        """Begin completely or not at all.

        psycopg may yield to a busy event loop halfway. A task cancelled there would never end the pipeline, and all
        later statements of the connection would become part of it.
        """
        level = self.level
        if level == 0:
            list(self._enter_gen())  # sends nothing, so it never waits
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
    """Queue a command without a cursor, which would cost as much as the one of the search."""
    pipeline.command_queue.append(command)
    pipeline.result_queue.append(None)
