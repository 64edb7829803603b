"""Settings for display: with their origin, without secrets."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr

from ragcorp.interface.cli.console.services import SettingRow, Target
from ragcorp.main.settings.for_commands import overrides_for, settings_for
from ragcorp.main.settings.schema import Settings, origin_of

MASK = "***"
DSN_SETTINGS = frozenset({"database_url", "database_owner_url"})
URL_SETTINGS = frozenset({"openai_base_url", "rerank_url"})
DSN_SECRETS = frozenset({"password", "sslpassword", "sslkey", "oauth_client_secret"})


def setting_rows(settings: Settings, overrides: Mapping[str, Any]) -> list[SettingRow]:
    """Return every setting, in the order of the class."""
    return [
        SettingRow(
            name=name.upper(),
            value=_displayed(settings, name),
            origin=origin_of(name, overrides),
            description=field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]


def rows_for(target: Target) -> list[SettingRow]:
    return setting_rows(settings_for(target), overrides_for(target))


def masked_dsn(dsn: str) -> str:
    """Return a connection string with its secrets masked; an invalid one is masked as a whole."""
    try:
        parts = conninfo_to_dict(dsn.replace("postgresql+psycopg://", "postgresql://", 1))
        return make_conninfo(**{key: MASK if key in DSN_SECRETS else str(value) for key, value in parts.items()})
    except ProgrammingError:
        return MASK


def _displayed(settings: Settings, name: str) -> str | int | float | bool | None:
    value = getattr(settings, name)
    if name == "ragcorp_data_dir":
        return str(settings.data_dir)
    if name in ("embedding_model", "embedding_dim") and settings.embedding is not None:
        return settings.embedding[0] if name == "embedding_model" else settings.embedding[1]
    if name in DSN_SETTINGS and value is not None:
        return masked_dsn(value.get_secret_value())
    if name in URL_SETTINGS and value is not None:
        return _masked_url(value)
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else None
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _masked_url(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(
        parts._replace(netloc=f"{MASK}@{host}" if "@" in parts.netloc else host, query=MASK if parts.query else "")
    )
