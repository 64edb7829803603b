"""What a program that we start can see of us: neither its command line nor its environment holds a secret."""

from __future__ import annotations

import asyncio
import json
import shlex
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.backups.programs import Child
from ragcorp.infrastructure.embedded_postgres.account import ServerAccount
from support.parsing.reading import read_apart

CANARY = "CANARY9c1"
DSN = (
    f"postgresql://ana:{CANARY}%20a%5Cb@127.0.0.1:5432/corpus?sslpassword={CANARY}&sslmode=prefer"
    "&options=-c%20search_path%3Dpublic"
)
TELLS = """
import json, os, pathlib, stat, sys
own = pathlib.Path("/proc/self")
service = os.environ.get("PGSERVICEFILE")
told = {
    "command": own.joinpath("cmdline").read_bytes().decode(),
    "environment": own.joinpath("environ").read_bytes().decode(),
    "service": service and pathlib.Path(service).read_text(),
    "mode": service and stat.S_IMODE(os.stat(service).st_mode),
    "path": service,
}
print(json.dumps(told))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A program that tells what it sees, in an environment of ours that is full of secrets."""
    for name in ("DATABASE_URL", "OPENAI_API_KEY", "KEYS_SECRET", "RERANK_API_KEY", "PGPASSWORD", "AWS_SECRET_KEY"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("LC_MESSAGES", "C")
    monkeypatch.setenv("PGSSLROOTCERT", "/etc/roots.pem")
    code = tmp_path / "tells.py"
    code.write_text(TELLS)
    path = tmp_path / "postgres"
    path.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", str(code)])} "$@"\n')
    path.chmod(0o700)
    return str(path)


def told_by(program: str, dsn: str | None) -> dict[str, Any]:
    with tempfile.TemporaryFile() as errors:
        child = Child([program, "--format=custom"], dsn=dsn, options="-c a.b=*", writes=True, errors=errors)
        try:
            told: dict[str, Any] = json.loads(child.stdout.read())
            assert child.wait() == 0
        finally:
            child.end()
    return told


pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")


def test_a_program_of_backups_logs_in_by_a_file_alone(program: str) -> None:
    told = told_by(program, DSN)
    for shown in ("command", "environment"):
        assert CANARY not in told[shown]
        assert "corpus" not in told[shown]
    assert "LC_MESSAGES=C" in told["environment"]
    assert "PGSSLROOTCERT=/etc/roots.pem" in told["environment"]
    assert told["mode"] == stat.S_IRUSR | stat.S_IWUSR
    assert sorted(told["service"].splitlines()) == sorted(
        ["[ragcorp]", "user=ana", f"password={CANARY} a\\b", "host=127.0.0.1", "port=5432", "dbname=corpus",
         f"sslpassword={CANARY}", "sslmode=prefer", "options=-c search_path=public -c a.b=*"]
    )  # fmt: skip
    assert not Path(told["path"]).exists()


def test_a_program_without_a_login_has_none(program: str) -> None:
    told = told_by(program, None)
    assert told["service"] is None
    assert CANARY not in told["command"] + told["environment"]


def test_a_named_service_is_looked_up(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services = tmp_path / "services"
    services.write_text(f"[mine]\nhost=127.0.0.1\nport=1\ndbname=other\npassword={CANARY}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    told = told_by(program, "service=mine user=ana")
    assert {"dbname=other", f"password={CANARY}", "user=ana", "port=1"} <= set(told["service"].splitlines())
    assert "service=mine" not in told["service"]


@pytest.mark.parametrize("password", ["a%20", "a%0Ab"])
def test_what_no_file_can_hold_is_refused(program: str, password: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        told_by(program, f"postgresql://ana:{password}@127.0.0.1/corpus")
    assert (refused.value.field, bool(refused.value.remedy)) == ("DATABASE_OWNER_URL", True)


def test_a_program_that_is_missing_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with tempfile.TemporaryFile() as errors, pytest.raises(FileNotFoundError):
        Child([str(tmp_path / "none")], dsn=DSN, errors=errors)
    assert list(tmp_path.iterdir()) == []


def test_other_programs_get_no_secrets_either(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    run, start = subprocess.run, asyncio.create_subprocess_exec

    def spied(*arguments: Any, **options: Any) -> Any:
        done = run([program, *map(str, arguments[1:])], stdout=subprocess.PIPE, check=True, env=options["env"])
        seen.append(done.stdout.decode())
        return (run if arguments[0] == ["/bin/sh", "-c", "exit 3"] else start)(*arguments, **options)

    monkeypatch.setattr(subprocess, "run", spied)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", spied)
    assert ServerAccount.choose().run(["/bin/sh", "-c", "exit 3"], timeout_s=30) == (3, "")
    assert asyncio.run(read_apart("a.eml", b"Subject: hola\r\n\r\nhola")).text.endswith("hola")
    assert len(seen) == 2
    assert CANARY not in "".join(seen)
