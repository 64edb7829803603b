"""What a new data folder holds, and that it is whole or not there."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.infrastructure.embedded_postgres import EmbeddedServer, initialisation, provisioning
from ragcorp.infrastructure.embedded_postgres.credentials import load
from support.storage.embedded_server import Client, Place, until

Running = tuple[Place, EmbeddedServer]


def _mode(path: Path | str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_folders_and_files_are_private(running: Running) -> None:
    place, server = running
    # As root the server's group may pass through, and nobody else; the folder cannot be listed.
    assert _mode(place.data) == (0o710 if os.geteuid() == 0 else 0o700)
    assert _mode(place.data / "credentials.json") == 0o600
    assert _mode(place.pgdata()) == 0o700
    assert _mode(server.host) == 0o700


def test_every_connection_needs_its_password(running: Running) -> None:
    place, server = running
    rules = (place.pgdata() / "pg_hba.conf").read_text().splitlines()
    methods = {line.split()[-1] for line in rules if line.strip() and not line.startswith("#")}
    assert methods == {"scram-sha-256"}
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.app_dsn.replace(load(place.data / "credentials.json").app, "wrong"))


def test_passwords_are_random_and_not_in_the_repr(running: Running) -> None:
    place, server = running
    passwords = load(place.data / "credentials.json").all()
    assert len(set(passwords)) == 3
    assert all(len(password) >= 40 for password in passwords)
    assert not any(password in repr(server) for password in passwords)


def _show(server: EmbeddedServer, name: str) -> Any:
    with psycopg.connect(server.owner_dsn) as connection:
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
    return row and row[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data_checksums", "on"),
        ("server_encoding", "UTF8"),
        ("lc_collate", "C"),
        ("listen_addresses", ""),
        ("unix_socket_permissions", "0700"),
        ("jit", "off"),
        ("shared_buffers", "128MB"),
        ("max_connections", "100"),
        ("maintenance_work_mem", "256MB"),
        ("max_wal_size", "1GB"),
        ("password_encryption", "scram-sha-256"),
        ("logging_collector", "on"),
        ("log_truncate_on_rotation", "on"),
        ("fsync", "off"),  # the tests' own setting comes through
    ],
)
def test_settings(running: Running, name: str, value: str) -> None:
    if name == "lc_collate":
        with psycopg.connect(running[1].owner_dsn) as connection:
            row = connection.execute(
                "SELECT datlocprovider, datcollate, datlocale FROM pg_database WHERE datname = 'ragcorp'"
            ).fetchone()
        assert row == ("b", "C", "C.UTF-8")
    else:
        assert _show(running[1], name) == value


def test_fsync_is_on_by_default(place: Place) -> None:
    from ragcorp.infrastructure.embedded_postgres.endpoint import Endpoint
    from ragcorp.infrastructure.embedded_postgres.server_settings import command_line

    options = command_line({}, endpoint=Endpoint(socket_dir=place.root, port=1), cluster_name="x", log_dir=place.root)
    assert "fsync=on" in options


def test_text_search_and_trigrams_know_spanish_letters_and_signs(running: Running) -> None:
    """Fails with LC_CTYPE=C, under which '¿qu' and '«hola»' are lexemes and 'Ñ' is in no trigram."""
    with psycopg.connect(running[1].app_dsn) as connection:
        row = connection.execute(
            "SELECT to_tsvector('simple', '¿Qué «hola» ÁRBOL—niño'), cardinality(show_trgm('Ñandú'))"
        ).fetchone()
    assert row == ("'hola':2 'niño':4 'qué':1 'árbol':3", 6)


def test_extensions_are_there(running: Running) -> None:
    with psycopg.connect(running[1].app_dsn) as connection:
        names = {name for (name,) in connection.execute("SELECT extname FROM pg_extension")}
        connection.execute("SELECT '[1,2,3]'::halfvec(3) <=> '[1,2,3]', unaccent('á'), ARRAY[1] & ARRAY[1]")
    assert names >= {"vector", "unaccent", "pg_trgm", "intarray"}


def test_the_owner_makes_objects_and_the_app_only_uses_them(running: Running) -> None:
    server = running[1]
    with psycopg.connect(server.owner_dsn, autocommit=True) as owner:
        assert owner.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (False,)
        owner.execute("CREATE TABLE note (id bigserial PRIMARY KEY, body text)")
        owner.execute("CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT 2 * n'")
    with psycopg.connect(server.app_dsn, autocommit=True) as app:
        app.execute("INSERT INTO note (body) VALUES ('a')")
        app.execute("UPDATE note SET body = 'b'")
        assert app.execute("SELECT id, body, twice(21) FROM note").fetchone() == (1, "b", 42)
        app.execute("DELETE FROM note")
        for statement in (
            "CREATE TABLE mine ()",
            "CREATE TEMPORARY TABLE mine ()",
            "CREATE SCHEMA mine",
            "DROP TABLE note",
            "ALTER TABLE note ADD COLUMN more int",
            "TRUNCATE note",
            "CREATE EXTENSION hstore",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(statement)
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(server.app_dsn.replace("/ragcorp?", "/postgres?"))


def test_the_dsn_works_with_sqlalchemy(running: Running) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(running[1].app_dsn.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SELECT current_user")).scalar() == "ragcorp_app"
    engine.dispose()


def test_what_a_user_asked_is_not_in_the_log(running: Running) -> None:
    place, server = running
    with psycopg.connect(server.app_dsn) as connection, pytest.raises(psycopg.errors.SyntaxError):
        connection.execute("SELECT to_tsquery('simple', 'zanahoria ! & secreta')")
    log = place.status().log_file
    assert log is not None
    text = log.read_text()
    assert "ready to accept connections" in text
    assert "zanahoria" not in text


def test_a_kill_during_initdb_leaves_nothing_half_made(place: Place, client: Callable[[], Client]) -> None:
    killed = client()
    until(lambda: any(place.data.glob("cluster.*.new/pgdata/base")) if place.data.exists() else False)
    killed.kill()
    assert not place.status().initialised
    with place.postgres() as server, psycopg.connect(server.app_dsn) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    until(lambda: not any(place.data.glob("*.new")))


def test_an_initdb_that_fails_leaves_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initialisation, "SUPERUSER", "pg_reserved_prefix")
    with pytest.raises(StorageUnavailableError, match="superuser name"):
        place.postgres().start()
    assert not any(path.is_dir() for path in place.data.iterdir())


@pytest.mark.parametrize("step", ["_create_database", "_prepare_schema"])
def test_an_interrupted_role_setup_is_completed(place: Place, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def interrupted(*_: object) -> None:
        raise psycopg.errors.QueryCanceled("interrupted")

    with monkeypatch.context() as patch:
        patch.setattr(provisioning, step, interrupted)
        with pytest.raises(StorageUnavailableError, match="roles"):
            place.postgres().start()
    assert place.status().initialised
    assert not place.status().running
    with place.postgres() as server, psycopg.connect(server.app_dsn) as connection:
        assert connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'vector'").fetchone() == (1,)


def test_logs_are_bounded_by_size_and_age_at_each_start(ready: Place) -> None:
    with ready.postgres():
        log = ready.status().log_file
    assert log is not None
    big, old, small = (log.with_name(f"server-{name}.log") for name in ("big", "old", "small"))
    for path in (big, old, small):
        path.touch()
    os.truncate(big, 21 * 1024 * 1024)
    os.utime(old, (0, 0))
    with ready.postgres():
        assert not big.exists()
        assert not old.exists()
        assert small.exists()
