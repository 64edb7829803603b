"""The passwords of the cluster: random, made once, in a file that only the owner of the data folder reads."""

import json
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.embedded_postgres.data_folder import write_private

SUPERUSER = "postgres"
OWNER = "ragcorp_owner"
APP = "ragcorp_app"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    superuser: str = field(repr=False)
    owner: str = field(repr=False)
    app: str = field(repr=False)

    def all(self) -> tuple[str, ...]:
        return (self.superuser, self.owner, self.app)


def create(path: Path) -> Credentials:
    superuser, owner, app = (secrets.token_urlsafe(32) for _ in range(3))
    write_private(path, json.dumps({SUPERUSER: superuser, OWNER: owner, APP: app}))
    return Credentials(superuser=superuser, owner=owner, app=app)


def load_or_create(path: Path) -> Credentials:
    """Return the passwords of an interrupted initialisation, or new ones."""
    try:
        return load(path)
    except ConfigurationError:
        return create(path)


def load(path: Path) -> Credentials:
    """Raises ConfigurationError when the file is missing, damaged or readable by other users."""
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise ConfigurationError(
                "Other users may read the file with the database passwords.",
                field="data_dir",
                remedy="Run: chmod 600 credentials.json in the data folder.",
            )
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Credentials(superuser=str(stored[SUPERUSER]), owner=str(stored[OWNER]), app=str(stored[APP]))
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            "The data folder holds a database, but the file with its passwords is missing or damaged.",
            field="data_dir",
            remedy="Restore credentials.json from a backup of the data folder, or choose a new data folder.",
        ) from error
