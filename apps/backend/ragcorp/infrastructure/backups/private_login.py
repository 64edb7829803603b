"""Login data for PostgreSQL's programs, in a file that only this user may read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Self

from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import PGconn

from ragcorp.domain.exceptions import ConfigurationError

_SERVICE = "ragcorp"
_NO_ENTRIES = frozenset({"service", "servicefile"})
"""A service names no other one."""


class PrivateLogin:
    """A service file of libpq (mode 0600) for one program, until ``remove``.

    Command line and environment contain nothing of the DSN: `ps` and crash reports show both. ``options`` follow those
    of the DSN.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def of(cls, dsn: str, *, options: str) -> Self:
        """Raises ConfigurationError for a value that a service file cannot express."""
        parts = _parts(dsn)
        parts["options"] = f"{parts.get('options', '')} {options}".strip()
        lines = [f"[{_SERVICE}]", *(f"{name}={value}" for name, value in parts.items() if value)]
        if any(line != line.strip() or "\n" in line or "\r" in line for line in lines):
            raise ConfigurationError(
                "A value in the address of the database ends in a space or holds a line end.",
                field="DATABASE_OWNER_URL",
                remedy="PostgreSQL's programs read no such value from a file: choose another password or name.",
            )
        handle, name = tempfile.mkstemp(prefix="ragcorp-login-")  # for its owner alone
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, ""]))
        return cls(Path(name))

    @property
    def arguments(self) -> list[str]:
        return [f"--dbname=service={_SERVICE}"]

    @property
    def environment(self) -> dict[str, str]:
        return {"PGSERVICEFILE": str(self._path)}

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


def _parts(dsn: str) -> dict[str, str]:
    parts = {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    if "service" in parts:  # libpq looks its entries up when it begins to connect
        connection = PGconn.connect_start(dsn.encode())
        try:
            resolved = {each.keyword.decode(): each.val.decode() for each in connection.info if each.val is not None}
        finally:
            connection.finish()
        parts = resolved
    return {name: value for name, value in parts.items() if name not in _NO_ENTRIES}
