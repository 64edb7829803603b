"""`ragcorp backup` and `ragcorp restore`: everything comes back, or nothing changes."""

from __future__ import annotations

import asyncio
import json
import lzma
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from ragcorp.infrastructure.backups.contents import count_rows
from ragcorp.infrastructure.embedded_postgres import EmbeddedPostgres
from ragcorp.infrastructure.postgres.administration.migrations import head_revision
from ragcorp.infrastructure.postgres.episodes.store import PostgresEpisodeStore
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.keys import make_authenticator
from support.fixtures.command_line import CONTRACT, POLICY
from support.hydration.episodes import record, shown, store_entities
from support.processes.command_line import environment, run_here
from support.storage.embedded_server import until
from support.storage.postgres import open_database

GRAPH = [
    {"type": "entity", "name": "Ana", "external_id": "ana", "kind": "person"},
    {"type": "fact", "subject": "Ana", "object": "Zafiro", "predicate": "trabaja en"},
]
QUERY = "plazo de entrega del pedido"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A database with some of everything, and its backup: made as its owner, for whom row-level security holds."""

    file: Path
    superuser_dsn: str
    owner_dsn: str
    credential: str
    hits: list[Any]


def rows(dsn: str) -> dict[str, int]:
    with psycopg.connect(dsn) as connection:
        return count_rows(connection)


def hits() -> list[Any]:
    result = run_here("search", QUERY, "--json")
    assert result.code == 0, result.out
    return [(hit["document_id"], hit["rank"], hit["score"], hit["sources"]) for hit in result.json["results"]]


@pytest.fixture(scope="module")
def patched() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBEDDING_PROVIDER", "none")
        yield patch


@pytest.fixture(scope="module")
def home(data_dir: Path) -> Path:
    return data_dir.parent


async def fill_episodes(dsn: str) -> None:
    async with open_database(dsn) as database:
        document = await store_entities(database, "auth.go", {"Login": "func Login() error"})
        await record(PostgresEpisodeStore(database=database), "episodio", shown("auth.go::Login", document))


@pytest.fixture(scope="module")
def origin(
    postgres_server: Any,
    template_database: str,
    keep_database: Callable[..., str],
    home: Path,
    patched: pytest.MonkeyPatch,
) -> Origin:
    name = keep_database(template_database)
    dsn, owner = postgres_server.dsn(name), postgres_server.dsn(name, role="ragcorp_owner")
    documents = home / "documents"
    documents.mkdir()
    (documents / "marco.md").write_text(CONTRACT, encoding="utf-8")
    (documents / "viajes.txt").write_text(POLICY, encoding="utf-8")
    graph = home / "graph.jsonl"
    graph.write_text("\n".join(map(json.dumps, GRAPH)), encoding="utf-8")
    patched.setenv("DATABASE_URL", dsn)
    patched.setenv("DATABASE_OWNER_URL", owner)
    assert run_here("ingest", str(documents)).code == 0
    assert run_here("memory", "add", "Priya prefiere la ventanilla.", "--kind", "preference").code == 0
    assert run_here("graph", "load", str(graph)).code == 0
    asyncio.run(fill_episodes(dsn))
    key = run_here("keys", "create", "--scopes", "search,ask", "--workspace", "otro", "--json")
    assert key.code == 0, key.out
    file = home / "all.ragcorp"
    made = run_here("backup", str(file), "--json")
    assert made.code == 0, made.out
    return Origin(
        file=file,
        superuser_dsn=postgres_server.dsn(name, role="postgres"),
        owner_dsn=owner,
        credential=key.json["credential"],
        hits=hits(),
    )


@pytest.fixture
def target(
    origin: Origin, postgres_server: Any, make_database: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str]:
    """An empty database that the commands now work on; the superuser's and the owner's DSN."""
    name = make_database()
    owner = postgres_server.dsn(name, role="ragcorp_owner")
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn(name))
    monkeypatch.setenv("DATABASE_OWNER_URL", owner)
    return postgres_server.dsn(name, role="postgres"), owner


def test_a_backup_has_every_row_and_is_its_owners_alone(origin: Origin) -> None:
    assert stat.S_IMODE(origin.file.stat().st_mode) == 0o600
    told = run_here("restore", str(origin.file), "--list", "--json").json
    there = rows(origin.superuser_dsn)
    assert told["rows"] == there
    kinds = (
        "documents",
        "memory_items",
        "entities",
        "facts",
        "episodes",
        "hydrated_entities",
        "api_keys",
        "key_secret",
    )
    assert all(there[kind] for kind in kinds), there


def test_a_new_data_folder_gets_everything_back(
    origin: Origin, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_here("restore", str(origin.file), "--data-dir", str(data_dir), "--json")
    assert done.code == 0, done.out
    with EmbeddedPostgres(data_dir=data_dir) as server:
        assert rows(server.superuser_dsn) == rows(origin.superuser_dsn)
        monkeypatch.setenv("DATABASE_URL", server.app_dsn)
        monkeypatch.setenv("DATABASE_OWNER_URL", server.owner_dsn)
        assert hits() == origin.hits
        assert origin.hits
        doctor = run_here("doctor", "--json").json
        assert doctor["ok"], doctor

        async def caller() -> str:
            async with open_database(server.app_dsn) as database:
                existing = await make_authenticator(load_settings({}), database).caller(origin.credential)
                return existing.principal.workspace

        assert asyncio.run(caller()) == "otro"
        assert run_here("memory", "add", "Se puede seguir escribiendo.").code == 0


OLDER_BACKUP = Path(__file__).with_name("backup_of_revision_016.ragcorp.xz")
"""Made by ragcorp 0.1.0 at schema revision 016: two documents, a memory and a fact, without vectors."""


def test_a_backup_of_an_older_version_is_restored_and_migrated(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")
    file, data_dir = home / "older.ragcorp", home / "older"
    file.write_bytes(lzma.decompress(OLDER_BACKUP.read_bytes()))
    folder = ("--data-dir", str(data_dir))
    listed = run_here("restore", str(file), "--list", "--json").json
    assert (listed["version"], listed["postgresql"], listed["revision"]) == ("0.1.0", "18.6", "016")
    with EmbeddedPostgres(data_dir=data_dir) as server:
        done = run_here("restore", str(file), *folder, "--json")
        assert done.code == 0, done.out
        assert done.json["restored_revision"] == head_revision()
        restored = rows(server.superuser_dsn)
        assert {name: restored[name] for name in ("documents", "chunks", "memory_items", "facts", "key_secret")} == {
            "documents": 2,
            "chunks": 2,
            "memory_items": 1,
            "facts": 1,
            "key_secret": 1,
        }
        matches = run_here("search", "plazo de solicitud", *folder, "--json").json
        assert [hit["external_id"] for hit in matches["results"]] == ["vacaciones.md"]


def test_a_filled_database_is_kept_unless_it_is_to_be_replaced(
    origin: Origin, target: tuple[str, str], tmp_path: Path
) -> None:
    superuser, _ = target
    file = tmp_path / "copy.ragcorp"
    shutil.copyfile(origin.file, file)
    assert run_here("restore", str(file)).code == 0
    assert run_here("memory", "add", "Lo que había antes.").code == 0
    before = rows(superuser)
    refused = run_here("restore", str(file))
    assert (refused.code, "--replace" in refused.err) == (1, True)
    assert rows(superuser) == before

    done = run_here("restore", str(file), "--replace", "--json")
    assert done.code == 0, done.out
    assert rows(superuser) == rows(origin.superuser_dsn)
    kept = run_here("restore", done.json["kept"], "--list", "--json").json
    assert kept["rows"] == before


USERS_OWN = """
    CREATE TYPE mood AS ENUM ('sad');
    CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
    CREATE TABLE zz_counted (own serial, same integer GENERATED ALWAYS AS IDENTITY, feeling mood, size positive);
    CREATE STATISTICS zz_statistics ON own, same FROM zz_counted;
    CREATE TABLE aa_ranged (at integer) PARTITION BY RANGE (at);
    CREATE TABLE aa_part PARTITION OF aa_ranged FOR VALUES FROM (1) TO (9);
    CREATE MATERIALIZED VIEW aa_view AS SELECT own FROM zz_counted;
    CREATE FUNCTION aa_doubled(mood) RETURNS mood LANGUAGE sql IMMUTABLE AS 'SELECT $1';
    ALTER TABLE zz_counted ADD COLUMN again mood GENERATED ALWAYS AS (aa_doubled(feeling)) STORED;
"""


def test_a_schema_that_migrate_made_is_replaced_with_whatever_else_is_in_it(
    origin: Origin, postgres_server: Any, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    superuser = postgres_server.dsn(database_name, role="postgres")
    owner = postgres_server.dsn(database_name, role="ragcorp_owner")
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn(database_name))
    monkeypatch.setenv("DATABASE_OWNER_URL", owner)
    with psycopg.connect(owner) as connection:
        connection.execute(USERS_OWN)
    for _ in range(2):
        done = run_here("restore", str(origin.file), "--replace")
        assert done.code == 0, done.err
        assert rows(superuser) == rows(origin.superuser_dsn)
    with psycopg.connect(superuser) as connection:
        left = connection.execute(
            "SELECT to_regclass('zz_counted'), to_regclass('aa_part'), to_regtype('mood'), to_regtype('positive')"
        )
        assert left.fetchone() == (None, None, None, None)


def test_a_data_folder_that_other_commands_made_and_used_is_replaced(
    origin: Origin, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was only looked into, and one that was written to in between."""
    data_dir = home / "used"
    folder = ("--data-dir", str(data_dir))
    file = tmp_path / "all.ragcorp"
    shutil.copyfile(origin.file, file)
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL"):
        monkeypatch.delenv(name, raising=False)
    with EmbeddedPostgres(data_dir=data_dir) as server:  # one server for all of these commands
        assert run_here("documents", "list", *folder).code == 0
        first = run_here("restore", str(file), *folder, "--json")
        assert first.code == 0, first.out
        assert first.json["kept"] is None
        assert run_here("memory", "add", "Lo que se escribió después.", *folder).code == 0
        written = rows(server.superuser_dsn)
        again = run_here("restore", str(file), "--replace", *folder, "--json")
        assert again.code == 0, again.out
        assert rows(server.superuser_dsn) == rows(origin.superuser_dsn)
        back = run_here("restore", again.json["kept"], "--replace", *folder, "--json")
        assert back.code == 0, back.out
        assert rows(server.superuser_dsn) == written


def test_nobody_may_be_connected(origin: Origin, target: tuple[str, str]) -> None:
    superuser, _ = target
    with psycopg.connect(superuser):  # another role's session, of which the owner is told little
        refused = run_here("restore", str(origin.file))
    assert (refused.code, "Other programs are connected" in refused.err) == (1, True)
    assert rows(superuser) == {}


def test_an_existing_file_is_not_overwritten(origin: Origin, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    refused = run_here("backup", str(taken))
    assert (refused.code, "--force" in refused.err, taken.read_text()) == (1, True, "mine")
    assert run_here("backup", str(taken), "--force").code == 0
    assert zipfile.is_zipfile(taken)
    assert {path.name for path in tmp_path.iterdir()} == {"taken"}


def damage(file: Path, kind: str) -> None:
    content = bytearray(file.read_bytes())
    if kind == "truncated":
        del content[len(content) // 2 :]
    elif kind == "a flipped byte":
        content[len(content) // 2] ^= 0xFF
    elif kind == "something else":
        content[:] = b"PGDMP" + bytes(range(256))
    elif kind == "empty":
        content.clear()
    file.write_bytes(content)


@pytest.mark.parametrize("kind", ["truncated", "a flipped byte", "something else", "empty"])
def test_what_is_no_whole_backup_is_refused(origin: Origin, target: tuple[str, str], tmp_path: Path, kind: str) -> None:
    file = tmp_path / "broken.ragcorp"
    shutil.copyfile(origin.file, file)
    damage(file, kind)
    refused = run_here("restore", str(file), "--json")
    assert (refused.code, refused.json["error"]["field"]) == (2, "FILE")
    assert rows(target[0]) == {}


def rewritten(origin: Path, file: Path, *, dump: Callable[[bytes], bytes] = bytes, **changes: object) -> Path:
    """A backup with whole checksums whose manifest or dump says something else."""
    with zipfile.ZipFile(origin) as old, zipfile.ZipFile(file, "w") as new:
        manifest = json.loads(old.read("manifest.json"))
        new.writestr("manifest.json", json.dumps(manifest | changes))
        new.writestr("database.dump", dump(old.read("database.dump")))
    return file


def test_a_backup_of_a_newer_schema_names_the_version_to_install(
    origin: Origin, target: tuple[str, str], tmp_path: Path
) -> None:
    newer = rewritten(origin.file, tmp_path / "newer", revision="999", ragcorp="7.0.0")
    refused = run_here("restore", str(newer))
    assert (refused.code, "Install ragcorp 7.0.0 or newer" in refused.err) == (2, True)
    assert rows(target[0]) == {}


@pytest.mark.parametrize("kind", ["cut dump", "rows missing"])
def test_a_restore_that_fails_late_changes_nothing(
    origin: Origin, target: tuple[str, str], tmp_path: Path, kind: str
) -> None:
    superuser, _ = target
    assert run_here("restore", str(origin.file)).code == 0
    assert run_here("memory", "add", "Sobrevive.").code == 0
    before = rows(superuser)
    if kind == "cut dump":
        late = rewritten(origin.file, tmp_path / "late", dump=lambda dump: dump[: len(dump) - 200])
    else:
        counted = run_here("restore", str(origin.file), "--list", "--json").json["rows"]
        late = rewritten(origin.file, tmp_path / "late", rows=counted | {"documents": counted["documents"] + 1})
    failed = run_here("restore", str(late), "--replace")
    assert failed.code == 3, failed.err
    assert "nothing was changed" in failed.err
    assert rows(superuser) == before


def killed(process: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    """Kill it in the awaited state."""
    until(lambda: condition() or process.poll() is not None, 60)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_restore_that_is_killed_changes_nothing(
    origin: Origin, target: tuple[str, str], postgres_server: Any
) -> None:
    superuser, owner = target
    assert run_here("restore", str(origin.file)).code == 0
    before = rows(superuser)
    database = conninfo_to_dict(owner)["dbname"]
    with postgres_server.superuser() as watch:

        def count(condition: str) -> int:
            results = watch.execute(
                f"SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND {condition}", (database,)
            ).fetchone()
            return int(results[0])

        process = subprocess.Popen(
            [sys.executable, "-m", "ragcorp", "restore", str(origin.file), "--replace"],
            env=environment(),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        killed(process, lambda: count("application_name = 'ragcorp-backup' AND backend_xid IS NOT NULL") > 0)
        until(lambda: count("usesysid IS NOT NULL") == 0, 60)
    assert rows(superuser) == before
    repeated = run_here("restore", str(origin.file), "--replace")
    assert repeated.code == 0, repeated.err
    assert rows(superuser) == rows(origin.superuser_dsn)


def test_a_backup_that_is_killed_leaves_no_file_of_its_name(origin: Origin, tmp_path: Path) -> None:
    file = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "ragcorp", "backup", str(file)],
        env=environment({"DATABASE_URL": origin.owner_dsn, "DATABASE_OWNER_URL": origin.owner_dsn}),
        stderr=subprocess.DEVNULL,
    )
    killed(process, lambda: any(tmp_path.glob(".killed.*.part")))
    assert not file.exists()
