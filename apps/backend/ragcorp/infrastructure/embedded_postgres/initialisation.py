"""Makes a new cluster in a temporary folder and renames it when complete, so that no start finds half of one."""

import os
import shutil
from collections.abc import Iterator, Sequence

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from ragcorp.infrastructure.embedded_postgres.cluster import Cluster
from ragcorp.infrastructure.embedded_postgres.credentials import SUPERUSER, Credentials
from ragcorp.infrastructure.embedded_postgres.data_folder import sync_folder
from ragcorp.infrastructure.embedded_postgres.failures import disk_full, explain, free_bytes
from ragcorp.infrastructure.embedded_postgres.installation import Installation

# A new cluster takes 40 MB; the rest is room for the first write-ahead log segments and tables.
REQUIRED_FREE_BYTES = 200 * 1024 * 1024
_UNKNOWN_LOCALE = "invalid locale name"


def create_cluster(
    cluster: Cluster,
    *,
    installation: Installation,
    account: ServerAccount,
    credentials: Credentials,
    durable: bool,
    timeout_s: float,
) -> None:
    """Raises StorageUnavailableError when the disk has no room or initdb fails, ConfigurationError for the locale."""
    if free_bytes(cluster.home.parent) < REQUIRED_FREE_BYTES:
        raise disk_full()
    fresh = cluster.unfinished
    fresh.mkdir(mode=0o700)
    try:
        password_file = fresh / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(credentials.superuser, encoding="ascii")
        if account.drops_privileges:
            os.chown(password_file, account.uid, account.gid)
            os.chown(fresh, account.uid, account.gid)
        arguments = [
            installation.program("initdb"),
            f"--pgdata={fresh / 'pgdata'}",
            f"--username={SUPERUSER}",
            f"--pwfile={password_file}",
            "--auth-local=scram-sha-256",
            "--auth-host=scram-sha-256",
            "--encoding=UTF8",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            "--data-checksums",
            *(() if durable else ("--no-sync",)),
        ]
        _initdb(arguments, account, secrets=credentials.all(), timeout_s=timeout_s)
        password_file.unlink()
        fresh.rename(cluster.home)
        if durable:
            sync_folder(cluster.home.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _initdb(arguments: Sequence[str], account: ServerAccount, *, secrets: Sequence[str], timeout_s: float) -> None:
    for character_type in _character_types():
        status, output = account.run([*arguments, f"--lc-ctype={character_type}"], timeout_s=timeout_s)
        if status == 0:
            return
        if _UNKNOWN_LOCALE not in output:
            raise explain(output, action="could not make its database files", secrets=secrets)
    raise ConfigurationError(
        "This system has no UTF-8 locale, without which full-text search does not know the letters of a word.",
        remedy="Install the locale C.UTF-8 (package 'libc-bin' or 'glibc-langpack-en') and start again.",
    )


def _character_types() -> Iterator[str]:
    """Yield names to try for LC_CTYPE, the most portable first.

    The builtin provider sorts and changes case, but the text-search parser and pg_trgm let the C library classify
    letters. Under plain C every byte above 127 counts as one: '¿Qué' would become the lexeme '¿qu'.
    """
    yield from ("C.UTF-8", "C.utf8", "en_US.UTF-8", "es_ES.UTF-8", "UTF-8")
    for variable in ("LC_ALL", "LC_CTYPE", "LANG"):
        value = os.environ.get(variable, "")
        if value.lower().replace("-", "").endswith("utf8"):
            yield value
