"""The data folder: its layout, and the checks before its use."""

import hashlib
import os
import stat
from pathlib import Path

from ragcorp.domain.exceptions import ConfigurationError


class DataFolder:
    """``key``: sixteen hexadecimal digits that name the folder in places where its path would be too long."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))
        self.key = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        self.cluster = self.path / "cluster"
        self.launcher_lock = self.path / "launcher.lock"
        self.users_lock = self.path / "users.lock"
        self.server_lock = self.path / "server.lock"
        self.credentials = self.path / "credentials.json"
        self.pointer = self.path / "cluster.json"

    def prepare(self) -> None:
        """Create the folder with mode 0700, or check the existing one without changing its mode.

        Raises ConfigurationError if it is a file, another user's, writable by everyone or not writable by this user.
        """
        if any(parent.is_file() for parent in self.path.parents):
            raise _unusable("The data folder lies below a file.", "Choose a path below folders only.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            self.check()

    def admit(self, group: int) -> None:
        """Let a group pass through the folder without listing it, if it contains only our own files.

        For root: the server runs as another user and has to reach its files below this folder.
        """
        own_files = {self.launcher_lock, self.users_lock, self.server_lock, self.credentials, self.pointer}
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if set(self.path.iterdir()) <= own_files and not mode & stat.S_IXOTH:
            os.chown(self.path, -1, group)
            self.path.chmod(mode | stat.S_IXGRP)

    def check(self) -> None:
        info = self.path.stat()
        if not stat.S_ISDIR(info.st_mode):
            raise _unusable("The data folder is a file.", "Choose a path that is a folder, or that does not exist yet.")
        if info.st_uid != os.geteuid():
            raise _unusable(
                "The data folder belongs to another user.",
                "Run ragcorp as its owner, choose another data folder, or change the owner with chown.",
            )
        if info.st_mode & stat.S_IWOTH:
            raise _unusable("Every user may write to the data folder.", "Take that right away with: chmod o-w")
        if not os.access(self.path, os.R_OK | os.W_OK | os.X_OK):
            raise _unusable("The data folder is not writable.", "Change its mode with: chmod u+rwx")
        if (self.path / "PG_VERSION").exists():
            raise _unusable(
                "The data folder is itself the data directory of a PostgreSQL server.",
                "Choose an empty folder; to use that server, start it yourself and set DATABASE_URL.",
            )


def _unusable(message: str, remedy: str) -> ConfigurationError:
    return ConfigurationError(message, field="data_dir", remedy=remedy)


def make_passable(path: Path) -> None:
    """Create a folder that belongs to root and that every user may enter, whatever the umask.

    Changes no existing folder. Raises ConfigurationError when another user could replace its contents.
    """
    if not path.exists():
        if not path.parent.exists():
            make_passable(path.parent)
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
    info = path.stat()
    if info.st_uid != os.geteuid() or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigurationError(
            "A system folder of the embedded PostgreSQL can be changed by other users.",
            remedy="Make /var/lib/ragcorp and the folders in it root's, with mode 755.",
        )


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically and durably with one that only its owner reads."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
