"""A data folder of an older PostgreSQL becomes one of the installed version, or stays as it is.

The steps are tested with the installed programs as both versions; with a real old server where there is one.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from ragcorp.domain.exceptions import ConfigurationError, ConflictError
from ragcorp.infrastructure.embedded_postgres import cluster as clusters
from ragcorp.infrastructure.embedded_postgres import credentials, provisioning
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from ragcorp.infrastructure.embedded_postgres.data_folder import DataFolder
from ragcorp.infrastructure.embedded_postgres.installation import (
    OtherPrograms,
    find_installation,
    installation_for,
)
from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres
from ragcorp.infrastructure.embedded_postgres.upgrade import Upgrade, find_old_programs, find_upgrade
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.main.opening import upgrading
from support.storage.embedded_server import BACKEND, QUICK, Client, Folder, Place, until

KEEP = "INSERT INTO default_languages (workspace, language) VALUES ('kept', 'pt')"
KEPT = "SELECT language FROM default_languages WHERE workspace = 'kept'"


def upgrade_of(place: Place) -> Upgrade:
    """The installed programs upgrade to themselves."""
    account = ServerAccount.choose()
    installed = installation_for(account, found=find_installation(), system_dir=place.system)
    return Upgrade(
        folder=DataFolder.at(place.data),
        system_dir=place.system,
        before=installed.major,
        after=installed.major,
        old_programs=OtherPrograms(bin_dir=Path(installed.program("postgres")).parent, version=installed.version),
        settings=QUICK,
    )


def kept(place: Place) -> list[tuple[str]]:
    with place.postgres() as server, psycopg.connect(server.superuser_dsn) as connection:
        return connection.execute(KEPT).fetchall()


@pytest.fixture(scope="module")
def filled() -> Iterator[Path]:
    """A migrated data folder with a row, made once."""
    with Folder() as made:
        with made.postgres() as server:
            migrate(server.owner_dsn, embedding_model=None, application_dsn=server.app_dsn)
            with psycopg.connect(server.superuser_dsn) as connection:
                connection.execute(KEEP)
        yield made.data


@pytest.fixture
def old(place: Place, filled: Path) -> Place:
    subprocess.run(["cp", "-a", filled, place.data], check=True)
    return place


def test_everything_is_carried_over_and_the_old_files_are_kept(old: Place) -> None:
    before = (old.pgdata() / "global" / "pg_control").stat().st_ino
    done = upgrading.carry_over(upgrade_of(old))
    assert kept(old) == [("pt",)]
    assert (old.pgdata() / "global" / "pg_control").stat().st_ino != before
    assert (done.old_files / "pgdata" / "global" / "pg_control").stat().st_ino == before
    assert stat.S_IMODE(done.backup.stat().st_mode) == 0o600
    assert not (old.data / "upgrading").exists()


def test_an_upgrade_that_fails_leaves_the_old_folder_and_a_second_one_completes(
    old: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CutError(Exception):
        pass

    def cut(*_: object, **__: object) -> None:
        raise CutError

    with monkeypatch.context() as patch:
        patch.setattr(upgrading, "migrate", cut)
        with pytest.raises(CutError):
            upgrading.carry_over(upgrade_of(old))
    assert kept(old) == [("pt",)]

    finish = clusters.finish_exchange

    def cut_in_between(folder: DataFolder) -> None:
        if folder.path == old.data and not folder.cluster.exists():
            raise CutError
        finish(folder)

    with monkeypatch.context() as patch:
        patch.setattr(clusters, "finish_exchange", cut_in_between)
        with pytest.raises(CutError):
            upgrading.carry_over(upgrade_of(old))
    assert not (old.data / "cluster").exists()  # between the two renames
    assert kept(old) == [("pt",)]
    assert not (old.data / "upgrading").exists()


_CARRY_OVER = """
import sys
from pathlib import Path
from ragcorp.main.opening import upgrading
from support.storage.embedded_server import Place
from tests.storage.embedded.test_upgrade import upgrade_of
upgrading.carry_over(upgrade_of(Place(root=Path(sys.argv[1]))))
"""


def test_an_upgrade_that_is_killed_is_begun_again(old: Place) -> None:
    search = os.pathsep.join([str(BACKEND), str(BACKEND / "tests"), *sys.path])
    process = subprocess.Popen([sys.executable, "-c", _CARRY_OVER, old.root], env={**os.environ, "PYTHONPATH": search})
    running = old.data / "upgrading" / "cluster" / "pgdata" / "postmaster.pid"
    until(lambda: running.exists() or process.poll() is not None, timeout_s=60)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert kept(old) == [("pt",)]
    upgrading.carry_over(upgrade_of(old))
    assert kept(old) == [("pt",)]


def test_a_folder_in_use_is_left_alone(old: Place, client: Callable[[], Client]) -> None:
    client().started()
    with pytest.raises(ConflictError, match="Other programs use the data folder"):
        upgrading.carry_over(upgrade_of(old))
    assert sorted(path.name for path in old.data.iterdir() if path.is_dir()) == ["cluster"]


def test_what_needs_no_upgrade_and_what_cannot_be_had(ready: Place, tmp_path: Path) -> None:
    assert find_upgrade(ready.data, old_bin_dir=None, system_dir=ready.system) is None
    assert find_upgrade(tmp_path / "new", old_bin_dir=None, system_dir=ready.system) is None
    with pytest.raises(ConfigurationError, match="the folder that --old-bin-dir names") as caught:
        find_old_programs("9", tmp_path)
    assert "postgresql-9-pgvector" in str(caught.value)
    (ready.pgdata() / "PG_VERSION").write_text("99\n")
    with pytest.raises(ConfigurationError, match="newer than the installed"):
        find_upgrade(ready.data, old_bin_dir=None, system_dir=ready.system)


def make_old_folder(place: Place, programs: OtherPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an older version made. It had no builtin locale provider, and may lack the extensions that are optional."""
    folder = DataFolder.at(place.data)
    folder.prepare()
    made = credentials.create(folder.credentials)
    account = ServerAccount.choose()
    cluster = clusters.place(folder, account=account, system_dir=place.system)
    cluster.home.mkdir(mode=0o700)
    password = cluster.home / "password"
    password.write_text(made.superuser)
    if account.drops_privileges:
        os.chown(cluster.home, account.uid, account.gid)
        os.chown(password, account.uid, account.gid)
    status, output = account.run(
        [
            programs.program("initdb"),
            f"--pgdata={cluster.pgdata}",
            "--username=postgres",
            f"--pwfile={password}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ],
        timeout_s=60,
    )
    assert status == 0, output
    clusters.confirm(folder, cluster)
    there = tuple(
        name
        for name in provisioning._EXTENSIONS
        if any(programs.bin_dir.parent.rglob(f"{name}.control")) or "/usr/lib/postgresql" in str(programs.bin_dir)
    )
    monkeypatch.setattr(provisioning, "_EXTENSIONS", there)
    with EmbeddedPostgres(data_dir=place.data, system_dir=place.system, settings=QUICK, programs=programs) as server:
        migrate(server.owner_dsn, embedding_model=None, application_dsn=server.app_dsn)
        with psycopg.connect(server.superuser_dsn) as connection:
            connection.execute(KEEP)
    monkeypatch.undo()


def test_a_real_older_server(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    given = os.environ.get("OLD_POSTGRES_BIN_DIR")
    if given is None:
        pytest.skip("NO OLDER POSTGRESQL: name the folder of its programs, pgvector with them, in OLD_POSTGRES_BIN_DIR")
    shown = subprocess.run([Path(given, "postgres"), "--version"], capture_output=True, text=True, check=True).stdout
    major = shown.split()[2].partition(".")[0]
    make_old_folder(place, find_old_programs(major, Path(given)), monkeypatch)
    with pytest.raises(ConfigurationError, match="ragcorp migrate --upgrade-server"):
        place.postgres().start()
    found = find_upgrade(place.data, old_bin_dir=Path(given), system_dir=place.system, settings=QUICK)
    assert found is not None
    assert (found.before, found.after) == (major, find_installation().major)
    upgrading.carry_over(found)
    assert place.status().version == found.after
    assert kept(place) == [("pt",)]
