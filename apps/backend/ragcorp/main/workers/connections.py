"""Hands the connections of a listening socket to workers, each in its turn."""

import asyncio
import logging
import socket
from collections import deque

ACCEPTED_AT_ONCE = 64
PAUSE_SECONDS = 1.0
"""After an error of the system, such as too many open files."""

logger = logging.getLogger(__name__)


class ConnectionDealer:
    """Accepts connections while there is a worker, and sends each worker an equal number of them.

    A worker is the socket over which it gets the descriptors (SCM_RIGHTS). Without a worker connections wait in the
    listening socket.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._workers: deque[socket.socket] = deque()
        self._accepting = False

    def add(self, worker: socket.socket) -> None:
        self._workers.append(worker)
        self._resume()

    def remove(self, worker: socket.socket) -> None:
        """Send the worker no more, if it was one."""
        if worker in self._workers:
            self._workers.remove(worker)
        if not self._workers:
            self._pause()

    def close(self) -> None:
        """Accept no more: new connections are refused."""
        self._workers.clear()
        self._pause()
        self._listener.close()

    def _resume(self) -> None:
        if self._workers and not self._accepting:
            self._accepting = True
            self._listener.setblocking(False)
            asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)

    def _pause(self) -> None:
        if self._accepting:
            self._accepting = False
            asyncio.get_running_loop().remove_reader(self._listener.fileno())

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.warning("connections wait: %s", type(error).__name__)
                self._pause()
                asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._resume)
                return
            with connection:
                self._hand(connection)

    def _hand(self, connection: socket.socket) -> None:
        for _ in range(len(self._workers)):
            worker = self._workers[0]
            self._workers.rotate(-1)
            try:
                socket.send_fds(worker, [b"c"], [connection.fileno()])
            except OSError:  # it has ended, or does not read
                continue
            return
