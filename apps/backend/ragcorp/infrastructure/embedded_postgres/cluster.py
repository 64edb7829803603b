"""The place of the database files: below the data folder or, if root's server cannot enter that, below /var/lib.

Only the pointer file in the data folder leads to a cluster outside. Its first state is "creating": a cluster whose
pointer never became "ready" is a leftover, which the next start removes.
"""

import json
import os
import re
import shutil
import uuid
from pathlib import Path

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from ragcorp.infrastructure.embedded_postgres.data_folder import DataFolder, make_passable, write_private

_ID = re.compile(r"[0-9a-f]{32}")
_UNFINISHED = ".new"
CREATING, READY = "creating", "ready"


class Cluster:
    """The folders of one cluster; ``outside``: they are not in the data folder."""

    def __init__(self, *, home: Path, outside: bool) -> None:
        self.home = home
        self.outside = outside
        self.pgdata = home / "pgdata"
        self.log_dir = home / "log"
        self.startup_log = home / "startup.log"

    @property
    def unfinished(self) -> Path:
        """The temporary folder of a new cluster before it is renamed to ``home``."""
        return self.home.with_name(f"{self.home.name}.{uuid.uuid4().hex}{_UNFINISHED}")

    def remove_leftovers(self) -> None:
        for leftover in self.home.parent.glob(f"{self.home.name}.*{_UNFINISHED}"):
            shutil.rmtree(leftover, ignore_errors=True)

    def major(self) -> str | None:
        """Return the major version of PostgreSQL that made the files; None if there are none."""
        try:
            return (self.pgdata / "PG_VERSION").read_text(encoding="ascii").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None


def locate(folder: DataFolder, *, system_dir: Path) -> Cluster | None:
    """Return the finished cluster, if any. Raises ConfigurationError for a damaged pointer or a missing target."""
    if folder.cluster.exists():
        return Cluster(home=folder.cluster, outside=False)
    cluster_id, state = _read_pointer(folder.pointer)
    if state != READY:
        return None
    cluster = Cluster(home=_outside_folder(system_dir) / cluster_id, outside=True)
    if not cluster.pgdata.exists():
        raise ConfigurationError(
            "The data folder points to database files that are not there, or that this user may not see.",
            field="data_dir",
            remedy="Run ragcorp as root as before, restore the files from a backup, or choose a new data folder.",
        )
    return cluster


def place(folder: DataFolder, *, account: ServerAccount, system_dir: Path) -> Cluster:
    """Choose the place of a new cluster; remove leftovers. Raises ConfigurationError if the server can reach none."""
    inside = Cluster(home=folder.cluster, outside=False)
    inside.remove_leftovers()
    _remove_abandoned(folder, system_dir)
    if not account.drops_privileges:
        return inside
    if account.can_enter(folder.path.parent):
        folder.admit(account.gid)
        if account.can_enter(folder.path):
            return inside
    outside = _outside_folder(system_dir)
    make_passable(outside)
    if not account.can_enter(outside):
        raise ConfigurationError(
            "The system user of the embedded PostgreSQL can reach neither the data folder nor the place for its files.",
            field="data_dir",
            remedy="Choose a data folder below folders that every user may pass through, such as /srv.",
        )
    cluster_id = uuid.uuid4().hex
    _write_pointer(folder.pointer, cluster_id, CREATING)
    return Cluster(home=outside / cluster_id, outside=True)


def confirm(folder: DataFolder, cluster: Cluster) -> None:
    """Record that a cluster outside the data folder is finished."""
    if cluster.outside:
        _write_pointer(folder.pointer, cluster.home.name, READY)


def _outside_folder(system_dir: Path) -> Path:
    return system_dir / "clusters"


def _remove_abandoned(folder: DataFolder, system_dir: Path) -> None:
    cluster_id, state = _read_pointer(folder.pointer)
    if not state or os.geteuid() != 0:
        return
    abandoned = Cluster(home=_outside_folder(system_dir) / cluster_id, outside=True)
    abandoned.remove_leftovers()
    shutil.rmtree(abandoned.home, ignore_errors=True)
    folder.pointer.unlink()


def _read_pointer(path: Path) -> tuple[str, str]:
    """Return the id and state of the cluster outside the data folder; empty if there is none."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        cluster_id, state = stored["cluster"], stored["state"]
    except (FileNotFoundError, NotADirectoryError):
        return "", ""
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged() from error
    if not isinstance(cluster_id, str) or not _ID.fullmatch(cluster_id) or state not in (CREATING, READY):
        raise _damaged()
    return cluster_id, str(state)


def _write_pointer(path: Path, cluster_id: str, state: str) -> None:
    write_private(path, json.dumps({"cluster": cluster_id, "state": state}))


def _damaged() -> ConfigurationError:
    return ConfigurationError(
        "The file in the data folder with the location of the database files is damaged.",
        field="data_dir",
        remedy="Restore cluster.json from a backup of the data folder, or choose a new data folder.",
    )
