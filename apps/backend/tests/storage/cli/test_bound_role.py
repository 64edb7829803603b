"""Where others may use the service it refuses a database role that passes over row-level security."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.main.service.startup import ANY_ORIGIN_WITHOUT_KEY, UNBOUND_ROLE, require_bound_role, warn_of_any_origin
from ragcorp.main.settings.schema import load_settings

pytestmark = pytest.mark.anyio


async def no_key() -> bool:
    return False


async def a_key() -> bool:
    return True


async def test_a_superuser_serves_this_machine_only_and_no_keys(
    postgres_server: Any, database_name: str, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    superuser = load_settings({"database_url": postgres_server.dsn(database_name, role="postgres")})
    application = load_settings({"database_url": dsn})
    with socket.create_server(("127.0.0.1", 0)) as own, socket.create_server(("0.0.0.0", 0)) as network:
        await require_bound_role(application, network, a_key)
        await require_bound_role(application, own, no_key)
        assert caplog.messages == []
        await require_bound_role(superuser, own, no_key)
        assert caplog.messages == [UNBOUND_ROLE]
        for listener, keys in ((network, no_key), (network, a_key), (own, a_key)):
            with pytest.raises(ConfigurationError) as refused:
                await require_bound_role(superuser, listener, keys)
            assert refused.value.field == "DATABASE_URL"
            assert "BYPASSRLS" in (refused.value.remedy or "")


async def test_any_origin_without_a_key_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    await warn_of_any_origin(load_settings({"cors_origins": "*"}), a_key)
    await warn_of_any_origin(load_settings({"cors_origins": "https://a.example"}), no_key)
    assert caplog.messages == []
    await warn_of_any_origin(load_settings({"cors_origins": "*"}), no_key)
    assert caplog.messages == [ANY_ORIGIN_WITHOUT_KEY]
