"""The address of the service, and who may call it."""

import ipaddress
import socket
from collections.abc import Awaitable, Callable

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.main.settings.schema import Settings

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})

NO_KEY = (
    "No key exists: whoever is on this machine may do everything, and nobody else reaches it. "
    "`ragcorp keys create` makes the first key; from then on each request needs one."
)
KEYS_ON_LOOPBACK = "Each request needs a key, and only this machine reaches the service."
KEYS_ON_NETWORK = (
    "Each request needs a key. It listens on the network without TLS: put a proxy that has a certificate before it, "
    "or keep it to a network that you trust."
)


def address_of(host: str) -> tuple[socket.AddressFamily, str]:
    """Return family and numeric address of a name or address to listen on. Raises ConfigurationError."""
    if host == "localhost":
        return socket.AF_INET, "127.0.0.1"
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        addresses = []
    for family, _, _, _, address in addresses:
        if family in (socket.AF_INET, socket.AF_INET6):
            return socket.AddressFamily(family), str(address[0])
    raise ConfigurationError(
        "HOST is no address of this machine, nor a name of one.",
        field="HOST",
        limit="an IPv4 or IPv6 address, or a name",
        remedy="Use 127.0.0.1 for this machine alone, or 0.0.0.0 for all its networks.",
    )


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def allowed_hosts(settings: Settings) -> frozenset[str] | None:
    """Return the names that a Host header may have: ALLOWED_HOSTS, else on loopback its own, else None for any.

    Without a key only this header distinguishes the local user from a foreign page in the user's browser.
    """
    named = frozenset(name for name in (part.strip().lower() for part in settings.allowed_hosts.split(",")) if name)
    if named:
        return LOOPBACK_HOSTS | named
    try:
        _, address = address_of(settings.host)
    except ConfigurationError:
        address = "127.0.0.1"
    return LOOPBACK_HOSTS | {settings.host.lower()} if is_loopback(address) else None


async def access_over(listener: socket.socket, any_key_exists: Callable[[], Awaitable[bool]]) -> str:
    """Describe who may call the service. Raises ConfigurationError for a network address while there is no key."""
    exists = await any_key_exists()
    if is_loopback(listener.getsockname()[0]):
        return KEYS_ON_LOOPBACK if exists else NO_KEY
    if not exists:
        raise ConfigurationError(
            "There is no key yet, so the service listens on a loopback address only: everyone who reaches it elsewhere "
            "could read and delete all documents.",
            field="HOST",
            limit="127.0.0.1, ::1 or localhost",
            remedy="Make a key first: `ragcorp keys create --scopes search,ask`; or use 127.0.0.1.",
        )
    return KEYS_ON_NETWORK
