"""Run by root, the server is somebody else's process, and no folder of anybody is opened for it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from ragcorp.infrastructure.embedded_postgres.installation import Installation, find_installation, installation_for
from support.storage.embedded_server import BACKEND, Place

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="NEEDS ROOT: hands over to another user")


@pytest.fixture
def closed(place: Place) -> Place:
    """A data folder below a folder that only root enters; the system folder stays where everybody may pass."""
    (place.root / "closed").mkdir(mode=0o700)

    class Closed(Place):
        @property
        def data(self) -> Path:
            return self.root / "closed" / "data"

    return Closed(root=place.root)


def test_the_server_runs_without_privileges(place: Place) -> None:
    with place.postgres() as server:
        process = psutil.Process(server.server_pid)
        assert 0 not in process.uids()
        assert 0 not in process.gids()
        assert process.cwd() == str(place.data / "cluster" / "pgdata")
        assert all("KEY" not in name for name in process.environ())


def test_secrets_stay_roots(ready: Place) -> None:
    with ready.postgres() as server:
        account = ServerAccount.owning(ready.pgdata())
        assert (ready.data / "credentials.json").stat().st_uid == 0
        assert account.run(["/bin/cat", str(ready.data / "credentials.json")], timeout_s=5)[0] != 0
        assert server.server_pid


def test_below_a_closed_folder_the_cluster_is_kept_elsewhere(closed: Place) -> None:
    with closed.postgres() as server, psycopg.connect(server.owner_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept ()")
    assert closed.pgdata().is_relative_to(closed.system / "clusters")
    assert stat.S_IMODE((closed.root / "closed").stat().st_mode) == 0o700
    assert stat.S_IMODE(closed.data.stat().st_mode) == 0o700
    with closed.postgres() as server, psycopg.connect(server.app_dsn) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_without_its_pointer_a_cluster_is_not_found_again(closed: Place) -> None:
    with closed.postgres():
        pass
    first = closed.pgdata()
    (closed.data / "cluster.json").unlink()
    with closed.postgres():
        assert closed.pgdata() != first
    assert first.exists()


def test_a_pointer_to_nothing_is_an_error_and_no_new_database(closed: Place) -> None:
    with closed.postgres():
        pass
    shutil.rmtree(closed.pgdata().parent)
    with pytest.raises(ConfigurationError, match="not there"):
        closed.postgres().start()


def test_a_cluster_that_was_never_finished_is_removed(closed: Place) -> None:
    with closed.postgres():
        pass
    abandoned = closed.pgdata().parent
    pointer = closed.data / "cluster.json"
    pointer.write_text(pointer.read_text().replace("ready", "creating"))
    with closed.postgres():
        assert closed.pgdata().parent != abandoned
    assert not abandoned.exists()


@pytest.mark.parametrize("text", ["{", '{"cluster": "../../../etc", "state": "ready"}', "[]"])
def test_a_damaged_pointer_is_refused(closed: Place, text: str) -> None:
    closed.data.mkdir(mode=0o700)
    (closed.data / "cluster.json").write_text(text)
    with pytest.raises(ConfigurationError, match="damaged"):
        closed.postgres().start()


def test_a_system_folder_that_others_may_change_is_refused(closed: Place) -> None:
    closed.system.mkdir()
    closed.system.chmod(0o777)
    (closed.system / "clusters").mkdir()
    (closed.system / "clusters").chmod(0o777)
    with pytest.raises(ConfigurationError, match="changed by other users"):
        closed.postgres().start()


def test_programs_in_a_closed_folder_are_copied_once_and_completely(place: Place) -> None:
    result = find_installation()
    hidden = place.root / "venv"
    hidden.mkdir(mode=0o700)
    for part in ("embedded_postgres", "embedded_postgres.libs"):
        if (result.site / part).exists():
            shutil.copytree(result.site / part, hidden / part, ignore=shutil.ignore_patterns("include", "__pycache__"))
    closed = Installation(site=hidden, version=result.version)
    account = ServerAccount.choose()

    copied = installation_for(account, installed=closed, system_dir=place.system)
    program = Path(copied.program("postgres"))
    assert copied.site.is_relative_to(place.system / "postgres")
    inode = program.stat().st_ino
    again = installation_for(account, installed=closed, system_dir=place.system)
    assert again == copied
    assert program.stat().st_ino == inode

    os.truncate(copied.site / "embedded_postgres/pginstall/share/postgres.bki", 10)
    mended = installation_for(account, installed=closed, system_dir=place.system)
    assert mended.usable_by(account)
    assert program.stat().st_ino != inode


_WHERE_THE_ACCOUNT_MATTERS = (
    "share_one_server or orphaned or killed_postmaster or outlives or private or password or owner_makes or interrupted"
    " or during_initdb or long_data_folder or not_writable or another_user or ctrl_c or recycled"
)


def test_the_same_holds_for_an_ordinary_user() -> None:
    """Runs tests of the other files of this folder again as `nobody`."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(BACKEND), str(BACKEND / "tests"), str(Path(pytest.__file__).parents[1])]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/nonexistent",
    }
    nobody = {"user": 65534, "group": 65534, "extra_groups": [], "env": environment, "cwd": "/"}
    files = [str(path) for path in sorted(Path(__file__).parent.glob("test_*.py")) if path != Path(__file__)]
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}", "/usr/local/bin/python3"):
        with suppress(OSError):
            if subprocess.run(
                [python, "-c", "import psycopg, psutil, ragcorp"], check=False, capture_output=True, **nobody
            ).returncode:
                continue
            alone = ["-c", os.devnull, "--rootdir", str(BACKEND), "--confcutdir", str(Path(__file__).parent)]
            command = [
                python,
                "-m",
                "pytest",
                "-q",
                "-x",
                "-p",
                "no:cacheprovider",
                *alone,
                "-k",
                _WHERE_THE_ACCOUNT_MATTERS,
                *files,
            ]
            done = subprocess.run(command, check=False, capture_output=True, **nobody)
            assert done.returncode == 0, (done.stdout + done.stderr).decode()[-4000:]
            return
    pytest.skip("NO PYTHON THAT AN ORDINARY USER MAY RUN reaches this repository and its packages")
