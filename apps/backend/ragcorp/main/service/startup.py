"""Checks of a service before it listens: who may call it, and the rights of its database role."""

import logging
import socket
from collections.abc import Awaitable, Callable

import anyio.to_thread

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.postgres.administration.inspection import role_is_bound
from ragcorp.infrastructure.postgres.administration.row_level_security import is_off
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.interface.http.layers.cors import ANY, parse_origins
from ragcorp.main.settings.addresses import access_over, is_loopback
from ragcorp.main.settings.schema import Settings

UNBOUND_ROLE = (
    "the database role of DATABASE_URL passes over row-level security, so that nothing but this program's own "
    "conditions keeps workspaces apart: use a role that is neither a superuser nor has BYPASSRLS. Once a key exists, "
    "the service does not start with this one"
)
ANY_ORIGIN_WITHOUT_KEY = (
    "CORS_ORIGINS is * and no key exists: pages of other origins are refused until one does, as whoever opens such a "
    "page in a browser here would let it do everything. Make a key with `ragcorp keys create`, or name the origins"
)

ROW_LEVEL_SECURITY_IS_OFF = (
    "row-level security is off: conditions of the statements alone keep workspaces apart"
    " (`ragcorp migrate --row-level-security on` turns it on)"
)

logger = logging.getLogger(__name__)


async def checked_access(
    settings: Settings, listener: socket.socket, database: Database, any_key_exists: Callable[[], Awaitable[bool]]
) -> str:
    """Describe who may call the service, and warn of what is open. Raises ConfigurationError."""
    access = await access_over(listener, any_key_exists)
    await require_bound_role(settings, listener, any_key_exists)
    await warn_of_any_origin(settings, any_key_exists)
    if await is_off(database):
        logger.warning(ROW_LEVEL_SECURITY_IS_OFF)
    return access


async def require_bound_role(
    settings: Settings, listener: socket.socket, any_key_exists: Callable[[], Awaitable[bool]]
) -> None:
    """Raise ConfigurationError if a service with keys, or on a network, has a role that bypasses row-level security."""
    if settings.database_url is None:
        return
    dsn = settings.database_url.get_secret_value().replace("postgresql+psycopg://", "postgresql://", 1)
    if await anyio.to_thread.run_sync(role_is_bound, dsn):
        return
    if is_loopback(listener.getsockname()[0]) and not await any_key_exists():
        logger.warning(UNBOUND_ROLE)
        return
    raise ConfigurationError(
        "With keys, or on a network, the database role must not pass over row-level security.",
        field="DATABASE_URL",
        remedy="Use a role that is neither a superuser nor has BYPASSRLS; docs/operations.md names its rights.",
    )


async def warn_of_any_origin(settings: Settings, any_key_exists: Callable[[], Awaitable[bool]]) -> None:
    origins = parse_origins(settings.cors_origins, credentials=settings.cors_credentials)
    if origins == (ANY,) and not await any_key_exists():
        logger.warning(ANY_ORIGIN_WITHOUT_KEY)
