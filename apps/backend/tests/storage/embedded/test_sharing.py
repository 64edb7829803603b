"""Several processes share one server: who starts it, who stops it, and what survives which death."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.embedded_postgres import locks, server
from support.storage.embedded_server import Client, Place, alive, kill_postmaster

StartClient = Callable[[], Client]


def test_processes_that_start_at_once_share_one_server_and_the_last_one_stops_it(
    place: Place, client: StartClient
) -> None:
    clients = [client() for _ in range(3)]
    pids = {item.started()["pid"] for item in clients}
    assert len(pids) == 1
    assert place.status().users in (3, None)

    (pid,) = pids
    clients[0].release()
    clients[1].release()
    assert alive(pid)
    clients[2].release()
    assert not alive(pid)
    assert not place.status().running


def test_start_and_release_may_be_repeated(ready: Place) -> None:
    postgres = ready.postgres()
    first = postgres.start()
    assert postgres.start() == first
    postgres.release()
    postgres.release()
    assert not alive(first.server_pid)
    again = postgres.start()
    assert again.app_dsn == first.app_dsn
    postgres.release()


def test_an_orphaned_server_is_joined_after_every_client_was_killed(ready: Place, client: StartClient) -> None:
    first, second = client(), client()
    pid = first.started()["pid"]
    second.started()
    first.kill()
    second.kill()
    assert alive(pid)
    assert ready.status().users in (0, None)

    with ready.postgres() as joined:
        assert joined.server_pid == pid
    assert not alive(pid)


def test_a_killed_postmaster_is_replaced_and_committed_rows_are_there(ready: Place, client: StartClient) -> None:
    other = client()
    answer = other.started()
    with psycopg.connect(answer["owner_dsn"], autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    kill_postmaster(answer["pid"])
    assert not ready.status().running

    with ready.postgres() as recovered:
        assert recovered.server_pid != answer["pid"]
        with psycopg.connect(recovered.owner_dsn) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    other.release()


def test_the_same_object_starts_a_killed_server_anew(ready: Place) -> None:
    postgres = ready.postgres()
    pid = postgres.start().server_pid
    kill_postmaster(pid)
    assert postgres.start().server_pid != pid
    postgres.release()


def test_a_backend_that_outlives_its_postmaster_does_not_block_the_next_start(
    ready: Place, client: StartClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_LEFTOVERS_GRACE_S", 0.3)
    answer = client().started()
    # one that stays: the last of the children may be a worker that is about to end by itself
    backend = next(c for c in psutil.Process(answer["pid"]).children() if "checkpointer" in " ".join(c.cmdline()))
    os.kill(backend.pid, signal.SIGSTOP)
    try:
        kill_postmaster(answer["pid"])
        assert not locks.is_free(ready.data / "server.lock")
        with ready.postgres() as recovered, psycopg.connect(recovered.app_dsn) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert not alive(backend.pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(backend.pid, signal.SIGKILL)


def test_a_server_process_that_nobody_can_see_is_not_started_over(
    ready: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two servers on the same files would destroy them: the lock of an unseen container's server must be enough."""
    monkeypatch.setattr(server, "_LEFTOVERS_GRACE_S", 0.1)
    with ready.postgres():
        pass
    unseen = locks.server_lock(ready.data / "server.lock")
    with unseen, pytest.raises(StorageUnavailableError) as caught:
        ready.postgres(start_timeout_s=1).start()
    assert caught.value.reason == "leftover_processes"


@pytest.mark.parametrize("name", ["sleep", "postgres"])
def test_a_stale_pid_file_with_a_recycled_pid_does_not_confuse(ready: Place, client: StartClient, name: str) -> None:
    first = client()
    answer = first.started()
    pid_file = ready.pgdata() / "postmaster.pid"
    socket_dir = Path(ready.status().host or "")
    kill_postmaster(answer["pid"])
    first.kill()
    program = ready.root / name
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    owner = pid_file.stat()
    drop = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
    unrelated = subprocess.Popen([str(program), "60"], **drop)
    try:
        for path in (pid_file, socket_dir / ".s.PGSQL.5432.lock"):
            lines = path.read_text().splitlines(keepends=True)
            path.write_text("".join([f"{unrelated.pid}\n", *lines[1:]]))
        assert not ready.status().running
        with ready.postgres() as recovered:
            assert recovered.server_pid != unrelated.pid
        assert unrelated.poll() is None
    finally:
        unrelated.kill()
        unrelated.wait()


def test_a_swept_socket_folder_is_made_again_when_we_are_the_only_user(ready: Place, client: StartClient) -> None:
    orphaned = client()
    answer = orphaned.started()
    orphaned.kill()
    shutil.rmtree(ready.status().host or "")
    with ready.postgres() as again, psycopg.connect(again.app_dsn) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert again.server_pid != answer["pid"]


def test_a_swept_socket_folder_is_an_error_while_others_use_the_server(ready: Place, client: StartClient) -> None:
    answer = client().started()
    shutil.rmtree(ready.status().host or "")
    with pytest.raises(StorageUnavailableError) as caught:
        ready.postgres().start()
    assert caught.value.reason == "unreachable"
    assert alive(answer["pid"])


def test_ctrl_c_at_the_terminal_reaches_the_client_and_not_the_server(ready: Place, client: StartClient) -> None:
    first = client()
    pid = first.started()["pid"]
    assert os.getpgid(pid) != os.getpgid(first.process.pid)
    os.killpg(os.getpgid(first.process.pid), signal.SIGINT)
    first.process.communicate()
    assert alive(pid)
    with ready.postgres() as joined:
        assert joined.server_pid == pid


def test_the_server_is_no_child_of_ours_so_no_zombie_remains(ready: Place, client: StartClient) -> None:
    postgres = ready.postgres()
    pid = postgres.start().server_pid
    other = client()
    other.started()
    postgres.release()
    other.release()
    assert not alive(pid)
    assert pid not in {child.pid for child in psutil.Process().children(recursive=True)}


def test_a_lock_that_another_program_holds_is_named_after_a_bounded_wait(place: Place) -> None:
    place.data.mkdir()
    holder = subprocess.Popen(
        ["flock", str(place.data / "launcher.lock"), "sh", "-c", "echo locked; sleep 30"], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StorageUnavailableError, match="lock of the data folder") as caught:
            place.postgres(start_timeout_s=0.3).start()
        assert caught.value.reason == "lock_taken"
        assert caught.value.remedy
    finally:
        children = psutil.Process(holder.pid).children(recursive=True)
        for process in [*children, psutil.Process(holder.pid)]:
            process.kill()
        holder.communicate()


def test_a_server_that_is_only_slow_is_left_to_go_on(ready: Place) -> None:
    """Stopping it would undo the recovery that it is doing; the next start joins it."""
    with pytest.raises(StorageUnavailableError) as caught:
        ready.postgres(start_timeout_s=0.001).start()
    assert caught.value.reason == "starting"
    with ready.postgres() as joined, psycopg.connect(joined.app_dsn) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
