"""An empty database of the owner's, beside the migrated one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def empty_owner_dsn(postgres_server: Any, make_database: Callable[..., str]) -> str:
    return str(postgres_server.dsn(make_database(), role="ragcorp_owner"))
