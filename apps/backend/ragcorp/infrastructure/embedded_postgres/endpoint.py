"""Where the server listens: a Unix socket in a short folder that only its owner enters, or a loopback port."""

import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from ragcorp.infrastructure.embedded_postgres.data_folder import make_passable

DATABASE = "ragcorp"
SOCKET_PORT = 5432
_LOOPBACK = "127.0.0.1"
_PRIVATE = 0o700
_MAX_SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """``socket_dir`` is None where Unix sockets do not exist; the server then listens on 127.0.0.1."""

    socket_dir: Path | None
    port: int

    @property
    def host(self) -> str:
        return _LOOPBACK if self.socket_dir is None else str(self.socket_dir)

    @property
    def socket_file(self) -> Path | None:
        return None if self.socket_dir is None else self.socket_dir / f".s.PGSQL.{self.port}"

    def dsn(self, *, user: str, password: str, database: str = DATABASE) -> str:
        credentials = f"{quote(user, safe='')}:{quote(password, safe='')}"
        return f"postgresql://{credentials}@/{database}?host={quote(self.host, safe='/')}&port={self.port}"

    def listens(self) -> bool:
        """Return False when the socket is missing or dead. Costs one connection that sends nothing."""
        family, address = (
            (socket.AF_INET, (_LOOPBACK, self.port))
            if self.socket_file is None
            else (socket.AF_UNIX, str(self.socket_file))
        )
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(2)
            try:
                probe.connect(address)
            except (FileNotFoundError, ConnectionRefusedError, PermissionError):
                return False
            except OSError:
                return True  # a full queue, for example: busy is not dead
            return True


def has_unix_sockets() -> bool:
    return hasattr(socket, "AF_UNIX")


def choose_endpoint(key: str, *, account: ServerAccount, system_dir: Path) -> Endpoint:
    """Return where the server of a folder listens. Raises ConfigurationError without a safe and short socket path."""
    if not has_unix_sockets():
        return Endpoint(socket_dir=None, port=_free_port())
    for base in _bases(account, system_dir):
        folder = base / f"ragcorp-{account.uid}-{key}"
        endpoint = Endpoint(socket_dir=folder, port=SOCKET_PORT)
        if len(os.fsencode(str(endpoint.socket_file))) <= _MAX_SOCKET_PATH_BYTES:
            _claim(folder, account)
            return endpoint
    raise ConfigurationError(
        "There is no folder with a path short enough for the socket of the embedded PostgreSQL.",
        remedy="Set TMPDIR to a short path, such as /tmp.",
    )


def _bases(account: ServerAccount, system_dir: Path) -> Iterator[Path]:
    if account.drops_privileges:
        # Below a folder of root's, so that no other user can take the name first, and reachable for the server's user.
        base = system_dir / "run"
        make_passable(base)
        yield base
        return
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    for base in (Path(runtime), Path(tempfile.gettempdir()), Path("/tmp")):  # noqa: S108 - a private folder in it
        if base.is_absolute() and _trustworthy(base):
            yield base


def _trustworthy(base: Path) -> bool:
    """Return whether the folder is writable and no other user can rename its contents."""
    try:
        info = base.stat()
    except OSError:
        return False
    others_write = info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    is_trusted_owner = info.st_uid in (0, os.geteuid())
    return (
        is_trusted_owner
        and (not others_write or bool(info.st_mode & stat.S_ISVTX))
        and os.access(base, os.W_OK | os.X_OK)
    )


def _claim(folder: Path, account: ServerAccount) -> None:
    try:
        folder.mkdir(mode=_PRIVATE)
        if account.drops_privileges:
            os.chown(folder, account.uid, account.gid, follow_symlinks=False)
    except FileExistsError:
        info = folder.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != account.uid:
            raise ConfigurationError(
                "The socket folder of the embedded PostgreSQL belongs to another user or is not a folder.",
                remedy="Another user may have put it there on purpose: remove it, or set XDG_RUNTIME_DIR or TMPDIR.",
            ) from None
        if stat.S_IMODE(info.st_mode) != _PRIVATE:
            folder.chmod(_PRIVATE)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])
