"""Where the service may listen, and which names it answers to there."""

from __future__ import annotations

import socket

import pytest

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.main.service.listener import listening_socket
from ragcorp.main.settings.addresses import LOOPBACK_HOSTS, access_over, address_of, allowed_hosts, is_loopback
from ragcorp.main.settings.schema import load_settings


@pytest.mark.parametrize(
    ("host", "address", "loopback"),
    [
        ("localhost", "127.0.0.1", True),
        ("127.0.0.2", "127.0.0.2", True),
        ("::1", "::1", True),
        ("0.0.0.0", "0.0.0.0", False),
        ("::", "::", False),
        ("10.1.2.3", "10.1.2.3", False),
        ("fe80::1", "fe80::1", False),
    ],
)
def test_addresses_and_who_reaches_them(host: str, address: str, loopback: bool) -> None:
    _, result = address_of(host)
    assert result == address
    assert is_loopback(result) is loopback


@pytest.mark.parametrize("host", ["", " ", "no.such.host.invalid", "a" * 300, "\udcff"])
def test_what_is_no_address_names_the_setting(host: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        address_of(host)
    assert refusal.value.field == "HOST"


def test_hosts_are_checked_on_the_loopback_or_where_named() -> None:
    assert allowed_hosts(load_settings({"host": "127.0.0.2"})) == LOOPBACK_HOSTS | {"127.0.0.2"}
    assert allowed_hosts(load_settings({"host": "0.0.0.0"})) is None
    named = load_settings({"host": "0.0.0.0", "allowed_hosts": "Docs.Acme.es, rag"})
    assert allowed_hosts(named) == LOOPBACK_HOSTS | {"docs.acme.es", "rag"}


@pytest.mark.anyio
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::"])
@pytest.mark.parametrize("exists", [False, True])
async def test_a_network_needs_a_key(host: str, exists: bool) -> None:
    async def any_key_exists() -> bool:
        return exists

    try:
        opened = listening_socket(host, 0)
        listener = opened.__enter__()
    except ConfigurationError:
        assert host == "::"
        pytest.skip("there is no IPv6 here")
    with listener:
        if host != "127.0.0.1" and not exists:
            with pytest.raises(ConfigurationError, match="ragcorp keys create"):
                await access_over(listener, any_key_exists)
            return
        said = await access_over(listener, any_key_exists)
        assert ("No key exists" in said) is not exists
        assert ("TLS" in said) is (host != "127.0.0.1")
        with socket.create_connection(("127.0.0.1", listener.getsockname()[1]), timeout=5):
            pass  # also over IPv4 where it listens on all of IPv6
