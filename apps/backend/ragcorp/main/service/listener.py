"""The socket that a service listens on."""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ragcorp.domain.exceptions import ConfigurationError, ConflictError
from ragcorp.main.settings.addresses import address_of

BACKLOG = 2048


@contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Listen on the address before the service is ready: early clients wait, and no other program takes the port."""
    family, address = address_of(host)
    both = address == "::" and socket.has_dualstack_ipv6()
    try:
        listener = socket.create_server((address, port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        raise _bind_error(error, port) from error
    with listener:
        # asyncio sets it on its own sockets only; without it responses on kept connections wait 40 ms
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


def _bind_error(error: OSError, port: int) -> ConfigurationError | ConflictError:
    if error.errno == errno.EADDRINUSE:
        return ConflictError(
            f"Port {port} is taken by another program.",
            field="PORT",
            remedy="Stop that program, or choose another port with --port (0 takes a free one).",
        )
    if error.errno == errno.EACCES:
        return ConfigurationError(
            f"This user may not listen on port {port}.", field="PORT", remedy="Choose a port above 1023 with --port."
        )
    return ConfigurationError(
        f"The service cannot listen there: {error.strerror or type(error).__name__}.",
        field="HOST, PORT",
        remedy="Choose another address or port.",
    )


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
