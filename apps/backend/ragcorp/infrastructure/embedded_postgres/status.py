"""The state of a data folder for `ragcorp doctor`. Starts, creates and locks nothing."""

from dataclasses import dataclass
from pathlib import Path

from ragcorp.infrastructure.embedded_postgres import cluster as clusters
from ragcorp.infrastructure.embedded_postgres.data_folder import DataFolder
from ragcorp.infrastructure.embedded_postgres.failures import os_errors_translated
from ragcorp.infrastructure.embedded_postgres.installation import find_installation
from ragcorp.infrastructure.embedded_postgres.launcher import SYSTEM_DIR, version_remedy
from ragcorp.infrastructure.embedded_postgres.server import find_postmaster, latest_log

_KERNEL_LOCKS = Path("/proc/locks")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedStatus:
    data_dir: Path
    initialised: bool
    cluster_dir: Path | None
    version: str | None
    """The major version that made the database files."""
    installed_version: str
    """The version of the package `embedded-postgres`."""
    version_remedy: str | None
    """The remedy when the two versions differ in their major version."""
    running: bool
    server_pid: int | None
    host: str | None
    port: int | None
    users: int | None
    """Number of processes that use the server; None where the kernel does not report it (no Linux, some containers)."""
    log_file: Path | None


def status(data_dir: Path, *, system_dir: Path = SYSTEM_DIR) -> EmbeddedStatus:
    """Raises MissingExtraError without the package, ConfigurationError for a folder that this user may not read."""
    installed = find_installation()
    folder = DataFolder(data_dir)
    with os_errors_translated():
        cluster = clusters.locate(folder, system_dir=system_dir)
        postmaster = find_postmaster(cluster.pgdata) if cluster else None
        version = cluster.major() if cluster else None
        return EmbeddedStatus(
            data_dir=folder.path,
            initialised=cluster is not None,
            cluster_dir=cluster.home if cluster else None,
            version=version,
            installed_version=installed.version,
            version_remedy=None
            if version is None or version == installed.major
            else version_remedy(version, installed.major),
            running=postmaster is not None,
            server_pid=postmaster.pid if postmaster else None,
            host=postmaster.endpoint.host if postmaster else None,
            port=postmaster.endpoint.port if postmaster else None,
            users=_count_holders(folder.users_lock),
            log_file=latest_log(cluster) if cluster else None,
        )


def _count_holders(lock: Path) -> int | None:
    """Counts lines such as ``1: FLOCK  ADVISORY  READ 1234 fe:00:5678 0 EOF``; the last of the three is the inode.

    Major and minor are not compared: on some file systems they differ from those that stat reports.
    """
    try:
        inode = lock.stat().st_ino
        lines = _KERNEL_LOCKS.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return 0 if _KERNEL_LOCKS.exists() else None
    except OSError:
        return None
    return sum("FLOCK" in line and "READ" in line and f":{inode} " in line for line in lines)
