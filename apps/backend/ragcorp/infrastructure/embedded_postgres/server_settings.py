"""The server's settings, all on its command line, for a laptop or one company with few connections."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.embedded_postgres.endpoint import Endpoint

# A parallel HNSW build keeps up to maintenance_work_mem in dynamic shared memory, next to parallel queries.
_ROOM_FOR_POSIX_SHARED_MEMORY = 512 * 1024 * 1024
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, not written to
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")

_DEFAULTS: Mapping[str, str] = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "maintenance_work_mem": "256MB",
    "autovacuum_work_mem": "64MB",
    "jit": "off",
    "fsync": "on",
    "min_wal_size": "80MB",
    "max_wal_size": "1GB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # One file per day of the week, overwritten a week later; see also _trim_logs.
    "logging_collector": "on",
    "log_filename": "server-%a.log",
    "log_file_mode": "0600",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_truncate_on_rotation": "on",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
    # Users' queries and documents do not belong in a log, and a failing statement's message quotes it ("syntax error in
    # tsquery: ..."). The client gets these errors anyway. `log` keeps the server's own events, FATAL and PANIC.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
_OURS = frozenset((
    "cluster_name", "config_file", "data_directory", "external_pid_file", "hba_file", "ident_file", "listen_addresses",
    "log_directory", "port", "unix_socket_directories", "unix_socket_group", "unix_socket_permissions",
))  # fmt: skip
"""Settings that only the launcher sets."""


def check_settings(settings: Mapping[str, str]) -> None:
    """Raises ConfigurationError for a malformed name, or one that the launcher sets itself."""
    for name, value in settings.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise ConfigurationError("A setting of the embedded PostgreSQL is malformed.", field="settings")
        if name.lower() in _OURS:
            raise ConfigurationError(
                f"The setting '{name.lower()}' of the embedded PostgreSQL is fixed.",
                field="settings",
                remedy="Leave it out; for a server of your own design set DATABASE_URL.",
            )


def command_line(settings: Mapping[str, str], *, endpoint: Endpoint, cluster_name: str, log_dir: Path) -> list[str]:
    options = dict(_DEFAULTS)
    options["dynamic_shared_memory_type"] = shared_memory_type(_SHARED_MEMORY)
    options.update({name.lower(): value for name, value in settings.items()})
    options["cluster_name"] = cluster_name
    options["log_directory"] = str(log_dir)
    options["port"] = str(endpoint.port)
    options["listen_addresses"] = "" if endpoint.socket_dir else endpoint.host
    options["unix_socket_directories"] = _quoted(endpoint.socket_dir) if endpoint.socket_dir else ""
    options["unix_socket_permissions"] = "0700"
    return [part for name, value in options.items() for part in ("-c", f"{name}={value}")]


def _quoted(path: Path) -> str:
    """One element of a list setting: the server splits on commas outside double quotes."""
    return '"' + str(path).replace('"', '""') + '"'


def shared_memory_type(folder: Path) -> str:
    """`posix` where shared memory has room, else `mmap`: containers often give /dev/shm 64 MB or none."""
    if sys.platform != "linux":
        return "posix"
    try:
        space = os.statvfs(folder)
    except OSError:
        return "mmap"
    roomy = space.f_bavail * space.f_frsize >= _ROOM_FOR_POSIX_SHARED_MEMORY
    return "posix" if roomy and folder.stat().st_mode & 0o002 else "mmap"
