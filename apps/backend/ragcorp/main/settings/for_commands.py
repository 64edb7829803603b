"""The settings of a command: its arguments, then the environment."""

from typing import Any

from ragcorp.interface.cli.console.services import Target
from ragcorp.main.process.logs import configure_logging
from ragcorp.main.settings.schema import Settings, load_settings


def settings_for(target: Target, **overrides: Any) -> Settings:
    """Return a command's settings and set up logging; a data folder argument wins over DATABASE_URL."""
    settings = load_settings(overrides_for(target, **overrides))
    if target.data_dir is not None:
        settings = settings.model_copy(update={"database_url": None, "database_owner_url": None})
    configure_logging("debug" if target.verbose else settings.log_level)
    return settings


def overrides_for(target: Target, **overrides: Any) -> dict[str, Any]:
    return {"ragcorp_data_dir": target.data_dir, **overrides}
