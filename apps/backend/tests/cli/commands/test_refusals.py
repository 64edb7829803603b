"""What cannot be done: exit codes, one clear line with a remedy or one JSON document, and no secret in either."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from support.processes.command_line import Done, run_apart

Command = Callable[..., Done]

SECRET = "s3cr3t-de-verdad"


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (["nope"], 2, "usage"),
        (["search"], 2, "usage"),
        (["search", "x", "--limit", "many"], 2, "usage"),
        (["search", "x", "--mode", "sideways"], 2, "usage"),
        (["search", ""], 2, "invalid_input"),
        (["search", "\u200b"], 2, "invalid_input"),
        (["search", "x" * 3000], 2, "invalid_input"),
        (["search", "x\udcff"], 2, "invalid_input"),
        (["search", "x", "--limit", "0"], 2, "invalid_input"),
        (["search", "x", "--limit", "1000"], 2, "invalid_input"),
        (["search", "x", "--cursor", "!"], 2, "invalid_input"),
        (["search", "x", "--rrf-k", "0"], 2, "invalid_input"),
        (["search", "x", "--filter", "language"], 2, "invalid_input"),
        (["search", "x", "--filter", "a={}"], 2, "invalid_input"),
        (["search", "x", "--filter", "a=[]"], 2, "invalid_input"),
        (["search", "x", "--filter", 'a={"$regex": "b"}'], 2, "invalid_input"),
        (["search", "x", "--weights", "dense"], 2, "invalid_input"),
        (["search", "x", "--weights", "dense=nan"], 2, "invalid_input"),
        (["search", "x", "--weights", "elsewhere=1"], 2, "invalid_input"),
        (["ingest", "/no/such/folder"], 2, "not_found"),
        (["history", "import", "no-such.jsonl"], 2, "not_found"),
        (["graph", "load", "no-such.jsonl"], 2, "not_found"),
        (["memory", "get", "no-such"], 1, "not_found"),
        (["memory", "list", "--cursor", ""], 2, "invalid_input"),
        (["memory", "list", "--filter", "collection=nope"], 2, "invalid_input"),
        (["artifacts", "list", "--filter", "collection=nope"], 2, "invalid_input"),
        (["collections", "--filter", "collection=nope"], 2, "invalid_input"),
        (["ingest", ".", "--sensitivity", "enormous"], 2, "invalid_input"),
        (["ingest", ".", "--metadata", "=x"], 2, "invalid_input"),
        (["documents", "show", "no-such"], 1, "not_found"),
        (["documents", "content", "no-such"], 1, "not_found"),
        (["documents", "restore", "no-such"], 1, "not_found"),
        (["documents", "list", "--cursor", "!"], 2, "invalid_input"),
        (["documents", "list", "--limit", "0"], 2, "invalid_input"),
        (["documents", "delete"], 2, "invalid_input"),
        (["documents", "delete", "x", "--prefix", "y"], 2, "invalid_input"),
        (["documents", "delete", "x"], 2, "invalid_input"),
        (["documents", "purge", "--older-than-days", "-1", "--yes"], 2, "invalid_input"),
        (["serve", "--host", "0.0.0.0"], 2, "configuration"),
        (["serve", "--host", "no address"], 2, "configuration"),
        (["serve", "--port", "70000"], 2, "configuration"),
        (["mcp"], 2, "invalid_input"),
        (["ingest", ".", "--prefix", "x\udcff"], 2, "invalid_input"),
        (["ingest", ".", "--watch", "--prefix", "x\udcff"], 2, "invalid_input"),
    ],
)
def test_bad_input_is_named(ragcorp: Command, arguments: list[str], code: int, kind: str) -> None:
    done = ragcorp(*arguments, "--json")
    assert done.code == code, done.out
    assert done.json["error"]["code"] == kind
    assert done.json["error"]["message"]
    assert set(done.json["error"]) == {"code", "message", "field", "limit", "remedy"}


@pytest.mark.parametrize(
    "paths",
    [
        ("a/acta.md", "b/acta.md"),
        ("a", "b"),
        ("a", "b/acta.md"),
        ("b/acta.md", "other", "a"),
        ("a", "a"),
        ("a", "a/../a"),
        ("a/acta.md", "a/acta.md"),
        ("a/sub", "b/sub"),
    ],
)
def test_files_of_one_name_are_refused_before_one_replaces_the_other(
    ragcorp: Command, tmp_path: Path, paths: tuple[str, ...]
) -> None:
    for name in ("a/acta.md", "b/acta.md", "a/sub/x.md", "b/sub/x.md", "a/1.md", "b/2.md", "other/3.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"Acta de la reunión: {name}.")
    done = ragcorp("ingest", *(str(tmp_path / path) for path in paths), "--json")
    assert done.code == 2, done.out
    assert done.json["error"]["field"] == "PATHS"
    assert "--prefix" in done.json["error"]["remedy"]
    assert "acta" not in done.out + done.err
    assert ragcorp("documents", "list", "--json").json["documents"] == []


def test_a_document_of_another_folder_that_is_replaced_later_is_said(ragcorp: Command, tmp_path: Path) -> None:
    for name in ("a/acta.md", "b/acta.md", "a/1.md", "b/2.md", "a/igual.md", "b/igual.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Lo mismo." if name.endswith("igual.md") else f"Acta de la reunión: {name}.")
    first = ragcorp("ingest", str(tmp_path / "a"), "--json")
    assert (first.json["created"], first.json["replaced"], "another folder" in first.err) == (3, 0, False)
    (tmp_path / "a" / "1.md").write_text("Otra acta.")
    own = ragcorp("ingest", str(tmp_path / "a"), "--json")
    assert (own.json["updated"], own.json["replaced"]) == (1, 0)
    other = ragcorp("ingest", str(tmp_path / "b"), "--json")
    assert [other.json[of] for of in ("created", "updated", "unchanged", "replaced")] == [1, 1, 1, 1]
    assert "1 of the updated documents had been stored from another folder" in other.err
    assert "--prefix" in other.err
    prefixed = ragcorp("ingest", str(tmp_path / "a"), "--prefix", "a/", "--json")
    assert (prefixed.json["created"], prefixed.json["replaced"]) == (3, 0)


def test_paths_of_different_names_and_what_gitignore_leaves_out_are_stored(ragcorp: Command, tmp_path: Path) -> None:
    for name in ("a/acta.md", "b/sub/acta.md", "b/acta.pyc", "b/borrador/acta.md", "c/acta.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"Acta de la reunión: {name}.")
    (tmp_path / "c" / ".gitignore").write_text("acta.md\n")
    paths = [str(tmp_path / name) for name in ("a", "b", "c")]
    done = ragcorp("ingest", *paths, "--json")
    assert (done.code, done.json["created"]) == (0, 3)
    assert ragcorp("ingest", *paths, "--no-gitignore", "--json").code == 2
    missing = ragcorp("ingest", str(tmp_path / "a"), str(tmp_path / "nowhere"), "--prefix", "x-", "--json")
    assert (missing.code, missing.json["error"]["code"]) == (2, "not_found")
    assert len(ragcorp("documents", "list", "--json").json["documents"]) == 3, "nothing is stored before all is found"


def test_an_error_for_people_is_one_line_with_the_remedy_on_stderr(ragcorp: Command) -> None:
    done = ragcorp("ingest", "/no/such/folder")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: There is no such file or folder. Check the path.\n"


def test_a_busy_port_is_refused_before_anything_starts(ragcorp: Command, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for command in ("serve", "demo"):
            done = ragcorp(command, "--port", port, "--data-dir", str(tmp_path / "data"))
            assert done.code == 1
            assert f"Port {port} is taken" in done.err
            assert "--port" in done.err
    assert not (tmp_path / "data").exists()


def test_a_wrong_password_is_said_without_the_password(
    ragcorp: Command, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", make_conninfo(dsn, password=SECRET))
    for command in (["search", "x"], ["migrate"], ["migrate", "--check"], ["serve", "--port", "0"]):
        done = ragcorp(*command, "--json")
        assert done.code == 2, done.out
        assert "refused the login" in done.json["error"]["message"]
        assert SECRET not in done.out + done.err
    doctor = ragcorp("doctor", "--json")
    assert doctor.code == 1
    failed = [check for check in doctor.json["checks"] if check["status"] == "failed"]
    assert [check["name"] for check in failed] == ["database"]
    assert failed[0]["remedy"]
    assert SECRET not in doctor.out + doctor.err


def test_an_unreachable_database_is_an_outage(ragcorp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound, not listening: refused
        port = probe.getsockname()[1]
        monkeypatch.setenv("DATABASE_URL", f"postgresql://u:{SECRET}@127.0.0.1:{port}/db")
        done = ragcorp("ask", "x")
        assert done.code == 3
        assert "cannot be reached" in done.err
        assert "Traceback" not in done.err
        assert SECRET not in done.err
        assert ragcorp("migrate", "--json").code == 3
        assert ragcorp("doctor").code == 1


def test_a_database_that_is_not_migrated_is_named(
    ragcorp: Command, make_database: Callable[..., str], postgres_server: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn(make_database()))  # type: ignore[attr-defined]
    done = ragcorp("search", "x")
    assert done.code == 2
    assert "ragcorp migrate" in done.err
    check = ragcorp("migrate", "--check", "--json")
    assert (check.code, check.json["current"], check.json["up_to_date"]) == (1, None, False)


def test_invalid_settings_are_named_without_their_values(ragcorp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RRF_K", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", f"ftp://{SECRET}")
    for command in ("config", "doctor", "serve"):
        done = ragcorp(command)
        assert done.code == 2
        assert "RRF_K" in done.err
        assert "OPENAI_BASE_URL" in done.err
        assert SECRET not in done.err


def test_no_secret_is_shown(ragcorp: Command, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://user:{SECRET}@127.0.0.1:1/v1?key={SECRET}")
    for owner in (
        f"postgresql://u:{SECRET}@h/d",
        f"host=h password={SECRET}",
        f"postgresql://h/d?password={SECRET}",
        SECRET,
    ):
        monkeypatch.setenv("DATABASE_OWNER_URL", owner)
        for command in (["config"], ["config", "--json"], ["doctor"], ["doctor", "--json", "--verbose"]):
            done = ragcorp(*command)
            assert SECRET not in done.out + done.err
    from psycopg.conninfo import conninfo_to_dict

    password = str(conninfo_to_dict(dsn)["password"])
    assert password not in ragcorp("config").out
    assert password not in ragcorp("doctor", "--verbose").out


def test_the_process_itself_keeps_stdout_clean(dsn: str) -> None:
    done = run_apart("search", "x", "--verbose", "--json", env={"DATABASE_URL": dsn, "LC_ALL": "C"})
    assert done.code == 0, done.err
    assert done.json["results"] == []
    refused = run_apart("search", "--limit", "ñ", "--json", env={"DATABASE_URL": dsn})
    assert (refused.code, refused.json["error"]["code"]) == (2, "usage")
