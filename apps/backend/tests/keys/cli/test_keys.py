"""`ragcorp keys`: a key is shown once, listed without its secret, and revoked."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from ragcorp.application.keys.credentials import CREDENTIAL
from support.processes.command_line import Done, Running, run_here

Command = Callable[..., Done]


def test_a_key_is_alone_on_stdout_and_never_shown_again(ragcorp: Command, dsn: str) -> None:
    made = ragcorp("keys", "create", "--scopes", "search, ask", "--name", "página", "--groups", "a,b")
    assert made.code == 0, made.err
    assert CREDENTIAL.fullmatch(made.out.rstrip("\n"))
    key_id, _, secret = made.out.strip().partition(".")
    assert key_id in made.err
    assert secret not in made.err

    as_json = ragcorp("keys", "create", "--scopes", "ingest", "--workspace", "ventas", "--subject", "luis", "--json")
    assert CREDENTIAL.fullmatch(as_json.json["credential"])
    assert (as_json.json["workspace"], as_json.json["subject"]) == ("ventas", "luis")

    listed = ragcorp("keys", "list", "--json")
    assert [key["scopes"] for key in listed.json["keys"]] == [["ingest"], ["ask", "search"]]
    first = listed.json["keys"][1]
    assert (first["workspace"], first["subject"], first["clearance"]) == ("default", key_id, "normal")
    assert (first["state"], first["groups"], first["last_used_at"]) == ("active", ["a", "b"], None)
    for shown in (listed.out, ragcorp("keys", "list").out, ragcorp("config").out, ragcorp("config", "--json").out):
        assert secret not in shown
        assert as_json.json["credential"].partition(".")[2] not in shown
    assert [key["id"] for key in ragcorp("keys", "list", "--workspace", "ventas", "--json").json["keys"]] == [
        as_json.json["id"]
    ]
    with psycopg.connect(dsn, options="-c ragcorp.workspace=*") as connection:
        rows = str(connection.execute("SELECT api_keys::text, encode(digest, 'base64') FROM api_keys").fetchall())
    assert key_id in rows
    assert secret not in rows


def test_a_key_is_revoked_for_good_and_expires(ragcorp: Command) -> None:
    key_id = ragcorp("keys", "create").out.partition(".")[0]
    soon = ragcorp("keys", "create", "--expires-in-days", "0.00001", "--json").json["id"]
    assert ragcorp("keys", "revoke", key_id).code == 0
    assert ragcorp("keys", "revoke", key_id).code == 0
    time.sleep(1)
    states = {key["id"]: key["state"] for key in ragcorp("keys", "list", "--json").json["keys"]}
    assert states == {key_id: "revoked", soon: "expired"}


def test_a_key_takes_its_workspace_from_the_setting(ragcorp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGCORP_WORKSPACE", "compras")
    assert ragcorp("keys", "create", "--json").json["workspace"] == "compras"


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (["create", "--scopes", "everything"], 2, "--scopes"),
        (["create", "--scopes", ""], 2, "--scopes"),
        (["create", "--clearance", "all"], 2, "--clearance"),
        (["create", "--workspace", "No Es"], 2, "workspace"),
        (["create", "--expires-in-days", "-1"], 2, "expires_in_days"),
        (["revoke", "rk_aaaaaaaaaaaaaaaa"], 1, "id"),
        (["revoke", "otra-cosa"], 1, "id"),
    ],
)
def test_what_cannot_be_names_the_field(ragcorp: Command, arguments: list[str], code: int, field: str) -> None:
    done = ragcorp("keys", *arguments, "--json")
    assert done.code == code
    assert done.json["error"]["field"] == field
    assert done.json["error"]["remedy"] or done.json["error"]["limit"]


def test_commands_work_in_the_workspace_of_the_setting(
    ragcorp: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGCORP_WORKSPACE", "compras")
    assert ragcorp("ingest", str(folder)).code == 0
    assert len(ragcorp("documents", "list", "--json").json["documents"]) == 2
    monkeypatch.setenv("RAGCORP_WORKSPACE", "ventas")
    assert ragcorp("documents", "list", "--json").json["documents"] == []
    assert ragcorp("search", "plazo", "--json").json["results"] == []


def status_of(url: str, credential: str | None = None) -> int:
    headers = {} if credential is None else {"Authorization": f"Bearer {credential}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def until(wanted: int, url: str, credential: str | None = None) -> None:
    deadline = time.monotonic() + 30
    while (result := status_of(url, credential)) != wanted:
        assert time.monotonic() < deadline, result
        time.sleep(0.1)


def test_a_running_service_learns_of_keys_and_the_network_needs_one(data_dir: Path) -> None:
    place = ["--data-dir", str(data_dir)]
    running = Running.start("serve", "--port", "0", *place, env={"KEY_CACHE_SECONDS": "0.5"})
    try:
        url = running.wait_for(r"Listening on (\S+)", seconds=100)[1]
        running.wait_for("No key exists")
        assert status_of(f"{url}/documents") == 200
        refused = run_here("serve", "--host", "0.0.0.0", "--port", "0", "--json", *place)
        assert (refused.code, refused.json["error"]["field"]) == (2, "HOST")
        assert "ragcorp keys create" in refused.json["error"]["remedy"]

        credential = run_here("keys", "create", "--scopes", "search", *place).out.strip()
        until(401, f"{url}/documents")
        assert status_of(f"{url}/documents", credential) == 200

        wide = Running.start("serve", "--host", "0.0.0.0", "--port", "0", *place)
        try:
            port = wide.wait_for(r"Listening on http://0\.0\.0\.0:(\d+)", seconds=100)[1]
            wide.wait_for("TLS")
            until(401, f"http://127.0.0.1:{port}/documents")
            assert status_of(f"http://127.0.0.1:{port}/documents", credential) == 200
        finally:
            done = wide.stop()
        assert credential.partition(".")[2] not in done.out + done.err

        assert run_here("keys", "revoke", credential.partition(".")[0], *place).code == 0
        until(401, f"{url}/documents", credential)
        assert json.loads(run_here("keys", "list", "--json", *place).out)["keys"][0]["last_used_at"]
    finally:
        done = running.stop()
    assert credential.partition(".")[2] not in done.out + done.err
