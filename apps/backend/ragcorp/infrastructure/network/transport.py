"""Connects to permitted addresses only. Imported where an extra with the HTTP client is installed."""

import ipaddress
import socket
from collections.abc import Iterable
from typing import Any

import anyio
import httpcore2
import httpx2

from ragcorp.infrastructure.network.egress import REFUSED, is_refused


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """Checks the addresses of a name, and connects to a checked one.

    A client with its own transport ignores the environment's proxy, whose connections could not be checked.
    """

    def __init__(self, *, max_connections: int = 100) -> None:
        super().__init__()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            max_connections=max_connections,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=GuardedBackend(),
        )


class RefusedAddressError(httpcore2.ConnectError):
    """A name has no permitted address."""

    reason = REFUSED


class GuardedBackend(httpcore2.AnyIOBackend):
    """Opens connections for a pool: to the first permitted address that answers."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of the library
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failed: Exception = RefusedAddressError("The name of the server leads to no permitted address.")
        for address in await _permitted(host, port, timeout):
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        raise RefusedAddressError("No model is at a socket of this machine.")


async def _permitted(host: str, port: int, timeout: float | None) -> list[str]:  # noqa: ASYNC109
    try:
        with anyio.fail_after(timeout):
            resolved = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise httpcore2.ConnectTimeout("The name of the server was not found in time.") from None
    except (OSError, UnicodeError):
        raise httpcore2.ConnectError("The name of the server is not known.") from None
    addresses = dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in resolved)
    return [address for address in addresses if not is_refused(ipaddress.ip_address(address))]
