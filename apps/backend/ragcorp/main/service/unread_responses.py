"""Cuts connections whose clients do not read: nothing else of uvicorn bounds how long a write may wait for them."""

from __future__ import annotations

import asyncio

from ragcorp.main.service.http_protocol import ProblemProtocol


def cutting_protocol(seconds: float) -> type[asyncio.Protocol]:
    """Return the server's protocol, whose connection is cut where a full write buffer does not drain for ``seconds``.

    The application then hears that the client left, and ends its work.
    """

    class CuttingProtocol(ProblemProtocol):
        _cut: asyncio.TimerHandle | None = None

        def pause_writing(self) -> None:
            super().pause_writing()
            self._forget()
            self._cut = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            self._forget()
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _forget(self) -> None:
            if self._cut is not None:
                self._cut.cancel()
                self._cut = None

    return CuttingProtocol
