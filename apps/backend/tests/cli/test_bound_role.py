"""On a network the service refuses a database role that passes over row-level security."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.main.serving import require_bound_role
from ragcorp.main.settings import load_settings

pytestmark = pytest.mark.anyio


async def test_a_superuser_serves_this_machine_only(postgres_server: Any, database_name: str, dsn: str) -> None:
    superuser = load_settings({"database_url": postgres_server.dsn(database_name, role="postgres")})
    application = load_settings({"database_url": dsn})
    with socket.create_server(("127.0.0.1", 0)) as own, socket.create_server(("0.0.0.0", 0)) as network:
        await require_bound_role(superuser, own)
        await require_bound_role(application, network)
        with pytest.raises(ConfigurationError) as refused:
            await require_bound_role(superuser, network)
    assert refused.value.field == "DATABASE_URL"
    assert "BYPASSRLS" in (refused.value.remedy or "")
