"""`ragcorp migrate` on servers of one's own: what it leaves to others, what it may turn off, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from psycopg.conninfo import conninfo_to_dict

from ragcorp.infrastructure.postgres.administration import row_level_security
from ragcorp.infrastructure.postgres.administration.inspection import inspect_service
from ragcorp.infrastructure.postgres.administration.leakproof import NEEDED
from ragcorp.infrastructure.postgres.administration.migrations import alembic_config
from ragcorp.interface.cli.console.services import ServeOptions, Target
from ragcorp.main.workers.service import open_service
from support.processes.command_line import Done
from support.storage.migrations import one

Command = Callable[..., Done]

STATES = """
    SELECT DISTINCT c.relrowsecurity, c.relforcerowsecurity FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
"""


@pytest.fixture
def own(ragcorp: Command, owner_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command over a database whose owner is no superuser."""
    monkeypatch.setenv("DATABASE_OWNER_URL", owner_dsn)
    return ragcorp


@pytest.fixture
def unmarked(own: Command, postgres_server: Any, database_name: str) -> Command:
    """Run a command over a database where no function is LEAKPROOF."""
    with postgres_server.superuser(database_name) as superuser:
        for function in NEEDED:
            superuser.execute(f"ALTER FUNCTION {function} NOT LEAKPROOF")
    return own


def states(dsn: str) -> list[tuple[bool, bool]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(STATES).fetchall()  # type: ignore[return-value]


def check(done: Done, name: str) -> dict[str, str]:
    return {item["name"]: item for item in done.json["checks"]}[name]


def test_what_is_left_to_a_superuser_is_said_loudly(
    unmarked: Command, postgres_server: Any, database_name: str
) -> None:
    done = unmarked("migrate", "--json")
    assert done.code == 0
    left = done.json["left_to_a_superuser"]
    assert len(left) == len(NEEDED)
    assert "NOT DONE" in done.err
    assert "503" in done.err
    assert all(f"{statement};" in done.err for statement in left)
    with postgres_server.superuser(database_name) as superuser:
        for statement in left:
            superuser.execute(statement)
    done = unmarked("migrate", "--json")
    assert (done.json["left_to_a_superuser"], done.json["row_level_security"], done.err) == ([], "on", "")


def test_row_level_security_is_turned_off_by_choice_and_stays_off(unmarked: Command, owner_dsn: str) -> None:
    done = unmarked("migrate", "--row-level-security", "off", "--json")
    assert (done.code, done.json["row_level_security"], done.json["left_to_a_superuser"]) == (0, "off", [])
    assert "Row-level security is off" in done.err
    assert states(owner_dsn) == [(False, False)]
    results = check(unmarked("doctor", "--json"), "row-level security")
    assert (results["status"], "turned off" in results["detail"]) == ("warning", True)
    # as a table that a later migration brought, with a policy in force
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        owner.execute("CREATE TABLE later (workspace text NOT NULL)")
        owner.execute("CREATE POLICY of_workspace ON later USING (workspace = 'x')")
        owner.execute("ALTER TABLE later ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    assert unmarked("migrate", "--json").json["row_level_security"] == "off"
    assert states(owner_dsn) == [(False, False)]
    assert unmarked("migrate", "--row-level-security", "on", "--json").json["row_level_security"] == "on"
    assert states(owner_dsn) == [(True, True)]
    assert unmarked("migrate", "--json").json["row_level_security"] == "on"


def test_the_choice_goes_with_a_backup(
    own: Command,
    owner_dsn: str,
    postgres_server: Any,
    make_database: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        row_level_security.switch(owner, on=False)
    assert own("backup", str(tmp_path / "file")).code == 0
    name = make_database()
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn(name))
    monkeypatch.setenv("DATABASE_OWNER_URL", postgres_server.dsn(name, role="ragcorp_owner"))
    done = own("restore", str(tmp_path / "file"))
    assert done.code == 0, done.err
    assert states(postgres_server.dsn(name)) == [(False, False)]


def test_a_table_that_was_changed_by_hand_turns_nothing_off(own: Command, owner_dsn: str) -> None:
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        owner.execute("ALTER TABLE documents DISABLE ROW LEVEL SECURITY")
    assert own("migrate", "--json").json["row_level_security"] == "on"
    assert inspect_service(owner_dsn).unprotected == ("documents",)
    assert own("migrate", "--row-level-security", "on").code == 0
    assert inspect_service(owner_dsn).unprotected == ()


def test_older_processes_are_to_be_stopped_before_policies_come(
    own: Command, owner_dsn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command.downgrade(alembic_config(owner_dsn), "015")
    done = own("migrate", "--json")
    assert (done.json["before"], done.json["stop_older_processes"]) == ("015", True)
    assert "a process of an older version sees no rows" in capsys.readouterr().err
    assert own("migrate", "--json").json["stop_older_processes"] is False
    assert "older version" not in capsys.readouterr().err


def test_a_database_of_a_newer_version_is_refused_with_what_helps(own: Command, owner_dsn: str) -> None:
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        owner.execute("UPDATE alembic_version SET version_num = '999'")
    for arguments in (["migrate"], ["migrate", "--check"], ["search", "x"], ["serve", "--port=0"], ["keys", "list"]):
        done = own(*arguments, "--json")
        assert done.code == 2, arguments
        assert "migrated by a newer version" in done.json["error"]["message"]
        assert "Install" in done.json["error"]["remedy"]
        assert "ragcorp migrate" not in done.out
    results = check(own("doctor", "--json"), "schema")
    assert (results["status"], "newer version" in results["detail"]) == ("failed", True)
    assert "migrate" not in results["remedy"]
    assert one(owner_dsn, "SELECT version_num FROM alembic_version") == "999"


def test_an_extension_that_the_owner_may_not_add_is_named(
    own: Command, postgres_server: Any, make_database: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = make_database()
    with postgres_server.superuser(name) as superuser:
        superuser.execute("DROP EXTENSION vector")
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn(name))
    monkeypatch.setenv("DATABASE_OWNER_URL", postgres_server.dsn(name, role="ragcorp_owner"))
    done = own("migrate", "--json")
    assert (done.code, done.json["error"]["field"]) == (2, "DATABASE_OWNER_URL")
    assert "CREATE EXTENSION vector;" in done.json["error"]["remedy"]
    assert "CREATE EXTENSION vector;" in check(own("doctor", "--json"), "pgvector")["remedy"]
    with postgres_server.superuser(name) as superuser:
        superuser.execute("CREATE EXTENSION vector")
    assert own("migrate").code == 0


def test_a_role_that_is_not_the_owner_is_told_whose_task_it_is(
    own: Command, owner_dsn: str, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command.downgrade(alembic_config(owner_dsn), "015")
    monkeypatch.setenv("DATABASE_OWNER_URL", dsn)
    done = own("migrate", "--json")
    assert done.code == 3
    assert "DATABASE_OWNER_URL" in done.json["error"]["remedy"]
    assert str(conninfo_to_dict(dsn)["password"]) not in done.out + done.err


@pytest.mark.anyio
@pytest.mark.parametrize("on", [True, False])
async def test_a_service_says_when_row_level_security_is_off(
    own: Command, owner_dsn: str, capsys: pytest.CaptureFixture[str], on: bool
) -> None:
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        row_level_security.switch(owner, on=on)
    async with open_service(Target(), ServeOptions(host="127.0.0.1", port=0)):
        pass
    assert ("row-level security is off" in capsys.readouterr().err) is not on
