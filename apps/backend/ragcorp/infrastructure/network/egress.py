"""Addresses that clients of models may connect to.

Only the operator sets addresses. A mistyped or poisoned name must not reach the metadata service of a cloud, which
gives credentials to any local client. Loopback and private networks are allowed: local models run there.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

from ragcorp.domain.exceptions import ConfigurationError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

REFUSED = "address_refused"
"""Reason of a failure: every address of the name is refused."""

_REFUSED_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",  # unspecified
            "169.254.0.0/16",  # link-local: the metadata service of most clouds
            "100.100.100.200/32",  # Alibaba Cloud
            "168.63.129.16/32",  # Azure
            "192.0.0.192/32",  # Oracle Cloud
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
            "::/128",
            "fe80::/10",
            "fec0::/10",  # site-local, no longer in use
            "fd00:ec2::/32",  # Amazon
            "fd20:ce::/32",  # Google
            "fd00:42::42/128",  # Scaleway
            "fd00:c1::/32",  # Oracle Cloud
            "ff00::/8",
        ),
    )
)
_EMBEDDING_NETWORKS = {
    ipaddress.ip_network("::/96"): 0,  # IPv4-compatible, no longer in use
    ipaddress.ip_network("::ffff:0:0/96"): 0,  # IPv4-mapped
    ipaddress.ip_network("::ffff:0:0:0/96"): 0,  # IPv4-translated
    ipaddress.ip_network("64:ff9b::/96"): 0,  # NAT64
    ipaddress.ip_network("64:ff9b:1::/48"): 0,  # NAT64 of one network; its longest prefix
    ipaddress.ip_network("2002::/16"): 80,  # 6to4
}
"""Networks whose addresses contain an IPv4 address, and the number of bits after it."""

_TEREDO = ipaddress.ip_network("2001::/32")
_REFUSED_NAMES = ("metadata", "metadata.google.internal", "metadata.goog", "instance-data", "metadata.azure.internal")


def is_refused(address: Address) -> bool:
    """Return whether an address, or an IPv4 address inside it, is not allowed."""
    if any(address in network for network in _REFUSED_NETWORKS):
        return True
    if isinstance(address, ipaddress.IPv4Address) or address.is_loopback:
        return False
    if address in _TEREDO:
        return True
    return any(
        address in network and is_refused(ipaddress.IPv4Address(int(address) >> following & 0xFFFFFFFF))
        for network, following in _EMBEDDING_NETWORKS.items()
    )


def check_base_url(url: str, *, field: str) -> None:
    """Refuse an address that is not allowed. Names are resolved when a connection is made, not here.

    Raises ConfigurationError, which does not repeat the address: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise ConfigurationError(
            f"{field} is not an HTTP address.",
            field=field,
            limit="http:// or https://, a host, and a port up to 65535",
            remedy="Give the whole address, such as http://127.0.0.1:8080/v1.",
        )
    address = _literal(host)
    if host.rstrip(".").lower() in _REFUSED_NAMES or (address is not None and is_refused(address)):
        raise ConfigurationError(
            f"{field} is an address that models may not have.",
            field=field,
            limit="no link-local, metadata, multicast, reserved or unspecified address",
            remedy="Give the address of the model's server; loopback and private networks are allowed.",
        )


def was_refused(error: BaseException | None) -> bool:
    """Return whether an error, or one of its causes, is a refused address."""
    seen = 0
    while error is not None and seen < 10:
        if getattr(error, "reason", None) == REFUSED:
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


def _literal(host: str) -> Address | None:
    """Return the address of a literal host, also in the forms 0x7f.1, 0177.0.0.1 and 2130706433."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def reason_of_status(status: int, *, not_found: str = "not_found") -> str:
    """Return a short word for a status that is an error; the body of the response is never relayed."""
    match status:
        case 401 | 403:
            return "unauthorized"
        case 400 | 413 | 422:
            return "rejected"
        case 404:
            return not_found
        case 429:
            return "rate_limited"
        case _ if status >= 500:
            return "server_error"
        case _:
            return "bad_response"
