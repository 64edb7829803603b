"""Every way in which a start can be refused says what is wrong and what to do, and touches nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from ragcorp.domain.exceptions import ConfigurationError, MissingExtraError, StorageUnavailableError
from ragcorp.infrastructure.embedded_postgres import EmbeddedPostgres, endpoint, installation
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from ragcorp.infrastructure.embedded_postgres.endpoint import choose_endpoint
from ragcorp.infrastructure.embedded_postgres.failures import explain
from ragcorp.infrastructure.embedded_postgres.server_settings import shared_memory_type
from support.storage.embedded_server import BACKEND, QUICK, Place

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="NEEDS ROOT: mounts, or gives files to other users")
ORDINARY = ServerAccount(uid=os.geteuid(), gid=os.getegid(), drops_privileges=False)


def _refused(place: Place, message: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError, match=message) as caught:
        place.postgres().start()
    assert caught.value.remedy
    assert str(place.root) not in str(caught.value)
    return caught.value


def test_a_file_as_data_folder(place: Place) -> None:
    place.data.touch()
    _refused(place, "is a file")


def test_a_data_folder_below_a_file(place: Place) -> None:
    (place.root / "data").touch()
    with pytest.raises(ConfigurationError, match="below a file"):
        Place(root=place.data).postgres().start()


def test_a_data_folder_that_everybody_may_write_to(place: Place) -> None:
    place.data.mkdir()
    place.data.chmod(0o777)
    _refused(place, "Every user")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_data_folder_that_is_not_writable(place: Place) -> None:
    place.data.mkdir(mode=0o500)
    _refused(place, "not writable")


def test_a_data_folder_of_another_user(place: Place) -> None:
    if os.geteuid() == 0:
        place.data.mkdir()
        os.chown(place.data, 65534, 65534)
        _refused(place, "belongs to another user")
    else:
        with pytest.raises(ConfigurationError, match="belongs to another user"):
            EmbeddedPostgres(data_dir=Path("/usr")).start()


def test_a_data_directory_of_somebody_elses_server(place: Place) -> None:
    place.data.mkdir()
    (place.data / "PG_VERSION").write_text("18\n")
    _refused(place, "itself the data directory")


def test_another_major_version_is_named_and_nothing_is_touched(place: Place) -> None:
    version = place.data / "cluster" / "pgdata" / "PG_VERSION"
    version.parent.mkdir(parents=True)
    version.write_text("15\n")
    before = {path: path.stat().st_mtime_ns for path in place.data.rglob("*")}
    error = _refused(place, r"PostgreSQL 15, but the installed one is 18")
    assert "ragcorp backup FILE" in str(error)
    assert "ragcorp restore FILE --data-dir NEW" in str(error)
    assert {path: path.stat().st_mtime_ns for path in place.data.rglob("*")} == before


def test_lost_passwords(ready: Place) -> None:
    with ready.postgres():
        pass
    (ready.data / "credentials.json").unlink()
    _refused(ready, "passwords is missing")


def test_a_server_that_refuses_a_setting_says_which(place: Place) -> None:
    error = _refused_setting(place, shared_buffers="lots")
    assert "shared_buffers" in error.message
    assert error.field == "settings"
    assert not place.status().running
    with place.postgres():
        assert place.status().running


def _refused_setting(place: Place, **settings: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        place.postgres(**settings).start()
    return caught.value


@pytest.mark.parametrize("name", ["listen_addresses", "Port", "data_directory", "x; rm"])
def test_settings_that_are_not_for_the_caller(place: Place, name: str) -> None:
    assert _refused_setting(place, **{name: "1"}).field == "settings"
    assert not place.data.exists()


def test_the_missing_package(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_PACKAGE", "no_such_package")
    with pytest.raises(MissingExtraError, match=r"embedded"):
        place.postgres().start()
    assert not place.data.exists()


def test_importing_needs_neither_the_package_nor_psutil() -> None:
    blocked = "import sys; sys.modules['psutil'] = sys.modules['embedded_postgres'] = None\n"
    code = blocked + "import ragcorp.infrastructure.embedded_postgres"
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(BACKEND), *sys.path])},
    )


def test_reasons_hold_no_secrets_and_no_paths() -> None:
    error = explain(
        "2026-01-01 00:00:00.000 UTC [7] LOG:  starting\n"
        '2026-01-01 00:00:00.000 UTC [7] FATAL:  could not open file "/home/ana/base/1" with s3cret\n',
        action="did not start",
        secrets=["s3cret"],
    )
    assert str(error).startswith('The embedded PostgreSQL did not start: could not open file "<path>" with ***')


def test_a_full_disk_in_the_log() -> None:
    error = explain("FATAL:  could not write lock file: No space left on device", action="did not start")
    assert isinstance(error, StorageUnavailableError)
    assert error.reason == "disk_full"


@contextmanager
def _tmpfs(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    options = f"size={size},mode=0700"
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "rc", folder], capture_output=True, check=False
    ).returncode:
        pytest.skip("NEEDS THE RIGHT TO MOUNT a tmpfs")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _fill(path: Path, block: bytes) -> None:
    with path.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(block)


@needs_root
def test_a_disk_without_room_is_detected_before_initdb(place: Place) -> None:
    with _tmpfs(place.data, "20m"):
        with pytest.raises(StorageUnavailableError, match="disk") as caught:
            place.postgres().start()
        assert caught.value.reason == "disk_full"
        assert not any(path.is_dir() for path in place.data.iterdir())


@needs_root
def test_a_disk_that_filled_up_is_named_at_the_next_start(place: Place) -> None:
    with _tmpfs(place.data, "230m"):
        with place.postgres():
            pass
        (place.data / "cluster" / "startup.log").unlink()
        filler = place.data / "filler"
        for block in (b"\0" * 65536, b"\0" * 512):
            _fill(filler, block)
        with pytest.raises(StorageUnavailableError) as caught:
            place.postgres().start()
        assert caught.value.reason == "disk_full"
        filler.unlink()
        with place.postgres() as server, psycopg.connect(server.app_dsn) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


@needs_root
def test_little_shared_memory_means_mmap(place: Place) -> None:
    with _tmpfs(place.data, "1m"):
        assert shared_memory_type(place.data) == "mmap"


def test_no_shared_memory_means_mmap_and_the_server_runs_with_it(ready: Place) -> None:
    assert shared_memory_type(ready.root / "missing") == "mmap"
    with ready.postgres(dynamic_shared_memory_type="mmap") as server, psycopg.connect(server.app_dsn) as connection:
        assert connection.execute("SHOW dynamic_shared_memory_type").fetchone() == ("mmap",)
        connection.execute("SET LOCAL debug_parallel_query = on")
        assert connection.execute("SELECT count(*) FROM pg_class").fetchone() is not None


@pytest.mark.parametrize("kind", ["symlink", "file"])
def test_a_socket_folder_that_is_no_folder_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place.root))
    squatted = place.root / f"ragcorp-{os.geteuid()}-abc"
    squatted.symlink_to("/tmp") if kind == "symlink" else squatted.touch()
    with pytest.raises(ConfigurationError, match="socket folder"):
        choose_endpoint("abc", account=ORDINARY, system_dir=place.system)


@needs_root
def test_a_socket_folder_of_another_user_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place.root))
    squatted = place.root / "ragcorp-0-abc"
    squatted.mkdir()
    os.chown(squatted, 65534, 65534)
    with pytest.raises(ConfigurationError, match="another user"):
        choose_endpoint("abc", account=ORDINARY, system_dir=place.system)


def test_a_long_temporary_folder_is_passed_over(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    long = place.root / ("x" * 100)
    long.mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    chosen = choose_endpoint("abc", account=ORDINARY, system_dir=place.system)
    assert chosen.socket_dir == Path("/tmp") / f"ragcorp-{os.geteuid()}-abc"
    shutil.rmtree(chosen.socket_dir)


def test_a_long_data_folder_works(place: Place) -> None:
    deep = EmbeddedPostgres(data_dir=place.root / ("d" * 200) / "data", system_dir=place.system, settings=QUICK)
    with deep as server, psycopg.connect(server.app_dsn) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_without_unix_sockets_the_server_listens_on_the_loopback_only(
    ready: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "has_unix_sockets", lambda: False)
    with ready.postgres() as server, psycopg.connect(server.app_dsn) as connection:
        assert server.host == "127.0.0.1"
        assert connection.execute("SHOW listen_addresses").fetchone() == ("127.0.0.1",)
        with ready.postgres() as joined:
            assert joined == server
