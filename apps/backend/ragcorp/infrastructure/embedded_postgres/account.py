"""The system user that the server's programs run as.

PostgreSQL refuses to run as root, so root hands over to an unprivileged user for initdb and the server, and stays
root itself: it connects over the socket, and the passwords stay in files that only root reads.
"""

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ragcorp.domain.exceptions import ConfigurationError, StorageUnavailableError

_CANDIDATES = ("postgres", "nobody")
_PASSED_ON = ("PATH", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LOCPATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccount:
    uid: int
    gid: int
    drops_privileges: bool

    @classmethod
    def choose(cls) -> Self:
        """Return the current user; for root `postgres` or `nobody`. Raises ConfigurationError if root finds neither."""
        if os.geteuid() != 0:
            return cls(uid=os.geteuid(), gid=os.getegid(), drops_privileges=False)
        for name in _CANDIDATES:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            if entry.pw_uid != 0:
                return cls(uid=entry.pw_uid, gid=entry.pw_gid, drops_privileges=True)
        raise ConfigurationError(
            "PostgreSQL does not run as root, and this system has neither a user 'postgres' nor 'nobody'.",
            remedy="Run ragcorp as an ordinary user, or create the system user 'postgres'.",
        )

    @classmethod
    def owning(cls, folder: Path) -> Self:
        """Return the owner of an existing cluster. Raises ConfigurationError if this process cannot act as it."""
        info = folder.stat(follow_symlinks=False)
        if os.geteuid() == 0 and info.st_uid != 0:
            return cls(uid=info.st_uid, gid=info.st_gid, drops_privileges=True)
        if os.geteuid() == 0 or info.st_uid != os.geteuid():
            raise ConfigurationError(
                "The database files of the data folder belong to another user.",
                field="data_dir",
                remedy="Run ragcorp as the user who made them, or give them back to that user with chown -R.",
            )
        return cls(uid=info.st_uid, gid=os.getegid(), drops_privileges=False)

    def run(self, argv: Sequence[str], *, timeout_s: float, keep_open: Sequence[int] = ()) -> tuple[int, str]:
        """Run a program as this account; return its exit status and output.

        It gets its own session, so that Ctrl-C at the terminal does not reach it, an environment without keys, and no
        open file but `keep_open`. Raises StorageUnavailableError after ``timeout_s``.
        """
        try:
            done = subprocess.run(  # noqa: S603 - our own argument lists, and no shell reads a value
                list(argv),
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={"LC_ALL": "C"} | {name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                timeout=timeout_s,
                pass_fds=keep_open,
                start_new_session=True,
                umask=0o077,
                user=self.uid if self.drops_privileges else None,
                group=self.gid if self.drops_privileges else None,
                extra_groups=[] if self.drops_privileges else None,
            )
        except subprocess.TimeoutExpired as error:
            raise StorageUnavailableError(
                f"A program of the embedded PostgreSQL did not finish within {timeout_s:g} s.",
                reason="start_timeout",
                remedy="The machine may be overloaded: try again, or allow a longer start time.",
            ) from error
        return done.returncode, done.stdout.decode("utf-8", errors="replace")

    def can_enter(self, folder: Path) -> bool:
        """Return whether this account may enter ``folder`` and every folder above it; the kernel decides."""
        if not self.drops_privileges:
            return os.access(folder, os.X_OK)
        return self.run(["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)], timeout_s=10)[0] == 0
