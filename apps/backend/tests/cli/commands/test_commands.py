"""Every command on its happy path: what it does, and that stdout with --json is the JSON alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ragcorp.main.commands import doctor
from support.processes.command_line import Done

Command = Callable[..., Done]


def test_ingest_reports_what_became_of_the_files(ragcorp: Command, folder: Path) -> None:
    first = ragcorp("ingest", str(folder), "--json")
    assert first.code == 0
    assert (first.json["files"], first.json["created"], first.json["failures"]) == (2, 2, [])
    assert first.json["pending"] > 0
    again = ragcorp("ingest", str(folder), "--json")
    assert (again.json["created"], again.json["unchanged"]) == (0, 2)


def test_a_bad_file_stops_no_other_and_is_named_with_its_remedy(ragcorp: Command, folder: Path) -> None:
    (folder / "roto.pdf").write_bytes(b"this is no PDF")
    done = ragcorp("ingest", str(folder), "--json")
    assert done.code == 1
    assert (done.json["created"], done.json["failed"]) == (2, 1)
    (failure,) = done.json["failures"]
    assert failure["external_id"] == "roto.pdf"
    assert failure["error"]["code"] == "unreadable_document"
    assert failure["error"]["remedy"]
    assert "roto.pdf" in done.err


def test_ingest_takes_several_paths_with_prefix_and_attributes(ragcorp: Command, folder: Path) -> None:
    done = ragcorp(
        "ingest",
        str(folder / "viajes.txt"),
        str(folder / "contratos"),
        "--prefix=area/",
        "--language=es",
        "--artifact-type=contract",
        "--sensitivity=confidential",
        "--metadata=year=2026",
        "--metadata=tags=a",
        "--metadata=tags=b",
    )
    assert done.code == 0
    shown = ragcorp("documents", "show", "area/marco.md", "--json").json
    assert (shown["artifact_type"], shown["sensitivity"]) == ("contract", "confidential")
    assert shown["metadata"] == {"year": 2026, "tags": ["a", "b"]}


def test_search_finds_acme_first(filled: Command) -> None:
    done = filled("search", "Acme Corporation", "--json")
    assert done.code == 0
    assert done.json["mode_used"] == "sparse"
    assert done.json["degraded"][0]["source"] == "dense"
    first = done.json["results"][0]
    assert "Acme Corporation" in first["text"]
    assert first["citation"]["path"] == "contratos/marco.md"
    assert first["sources"][0]["source"] == "full_text"


def test_search_for_people_shows_place_score_and_what_is_degraded(filled: Command) -> None:
    done = filled("search", "Acme Corporation", "--mode", "hybrid", "--explain")
    assert done.code == 0
    assert "contratos/marco.md:" in done.out
    assert "degraded: dense" in done.out
    assert "source full_text: ok" in done.out


def test_search_filters_and_pages(filled: Command) -> None:
    assert filled("search", "plazo hotel", "--filter", "year=2025", "--json").json["results"] == []
    assert filled("search", "hotel", "--filter", 'year={"$lt": 2026}', "--json").json["results"] == []
    either = '$or=[{"year": {"$gte": 2026}}, {"external_id": "x"}]'
    assert filled("search", "hotel", "--filter", either, "--json").json["results"]
    page = filled("search", "hotel", "--filter", "year=[2025,2026]", "--limit", "1", "--json").json
    assert [result["external_id"] for result in page["results"]] == ["viajes.txt"]
    weighted = filled("search", "hotel", "--mode=sparse", "--weights", "full_text=2", "--rrf-k=10", "--json")
    assert weighted.code == 0


def test_cursors_lead_through_all_results(filled: Command) -> None:
    seen, cursor = [], None
    while True:
        page = filled(
            "search", "contrato OR hotel OR plazo", "--limit=1", "--json", *(["--cursor", cursor] if cursor else [])
        )
        assert page.code == 0
        seen += [result["rank"] for result in page.json["results"]]
        cursor = page.json["next_cursor"]
        if cursor is None:
            break
    assert seen == list(range(1, len(seen) + 1))


def test_ask_quotes_and_cites(filled: Command) -> None:
    done = filled("ask", "¿Cuál es el plazo de entrega?", "--json")
    assert done.code == 0
    assert not done.json["abstained"]
    (citation,) = done.json["citations"]
    assert "30 días" in citation["quote"]
    assert (citation["path"], citation["line_start"]) == ("contratos/marco.md", 9)
    spoken = filled("ask", "¿Cuál es el plazo de entrega?")
    assert "30 días" in spoken.out
    assert "[1] contratos/marco.md:9" in spoken.out


def test_ask_streams(filled: Command) -> None:
    done = filled("ask", "¿Cuál es el plazo de entrega?", "--stream")
    assert done.code == 0
    assert done.out.count("30 días hábiles") == 2  # the answer, and the quoted words
    assert filled("ask", "¿Cuál es el plazo de entrega?", "--stream", "--json").json["abstained"] is False


def test_ask_abstains_where_no_document_tells(filled: Command) -> None:
    done = filled("ask", "¿Quién ganó la liga de baloncesto en 1987?", "--json")
    assert done.code == 0
    assert done.json["abstained"]
    assert done.json["citations"] == []


def test_documents_are_listed_shown_and_given_back(filled: Command, folder: Path, tmp_path: Path) -> None:
    listed = filled("documents", "list", "--json").json
    assert [document["external_id"] for document in listed["documents"]] == ["contratos/marco.md", "viajes.txt"]
    page = filled("documents", "list", "--limit=1", "--json").json
    rest = filled("documents", "list", "--limit=1", "--cursor", page["next_cursor"], "--json").json
    assert rest["documents"][0]["external_id"] == "viajes.txt"
    assert filled("documents", "list", "--prefix=contratos/", "--json").json["documents"][0]["chunks"] > 0
    assert "Contrato marco" in filled("documents", "list").out
    assert filled("documents", "show", "viajes.txt").code == 0

    original = (folder / "viajes.txt").read_bytes()
    assert filled("documents", "content", "viajes.txt").raw == original
    assert filled("documents", "content", "viajes.txt", "--json").json["text"].encode() == original
    copy = tmp_path / "copia.txt"
    assert filled("documents", "content", "viajes.txt", "-o", str(copy)).code == 0
    assert copy.read_bytes() == original


def test_documents_are_deleted_restored_and_purged(filled: Command) -> None:
    assert filled("documents", "delete", "viajes.txt", "--yes", "--json").json == {"deleted": 1}
    assert filled("documents", "show", "viajes.txt", "--json").json["error"]["code"] == "not_found"
    assert filled("documents", "list", "--deleted", "--json").json["documents"][0]["external_id"] == "viajes.txt"
    assert filled("documents", "restore", "viajes.txt", "--json").json["chunks"] > 0
    assert filled("documents", "delete", "--prefix=contratos/", "--yes", "--json").json == {"deleted": 1}
    assert filled("documents", "delete", "--filter=year=2026", "--yes", "--json").json == {"deleted": 1}
    assert filled("documents", "purge", "--older-than-days=0", "--yes", "--json").json == {"purged": 2}
    assert filled("documents", "list", "--json").json["documents"] == []


def test_ingest_counts_what_waits_in_its_workspace_alone(
    filled: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = filled("ingest", str(folder), "--json").json["pending"]
    monkeypatch.setenv("RAGCORP_WORKSPACE", "ventas")
    assert filled("ingest", str(folder / "viajes.txt"), "--json").json["pending"] < own


def test_embed_without_a_model_says_so(filled: Command) -> None:
    done = filled("embed", "--pending", "--json")
    assert done.code == 1
    assert done.json["embedded"] == 0
    assert done.json["pending"] > 0
    assert "EMBEDDING_PROVIDER=none" in done.err


def test_config_lists_every_setting_with_its_origin(ragcorp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RRF_K", "17")
    rows = {row["name"]: row for row in ragcorp("config", "--json").json["settings"]}
    assert (rows["RRF_K"]["value"], rows["RRF_K"]["origin"]) == (17, "environment")
    assert (rows["ENABLE_HYBRID_SEARCH"]["value"], rows["ENABLE_HYBRID_SEARCH"]["origin"]) == (False, "default")
    assert all(row["description"] for row in rows.values())
    assert "RRF_K" in ragcorp("config").out
    argument = {row["name"]: row for row in ragcorp("config", "--data-dir", "x", "--json").json["settings"]}
    assert argument["RAGCORP_DATA_DIR"]["origin"] == "argument"
    assert argument["DATABASE_URL"]["value"] is None


def test_config_names_the_other_name_of_a_setting(ragcorp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RRF_CONSTANT", "17")
    rows = {row["name"]: row for row in ragcorp("config", "--json").json["settings"]}
    assert (rows["RRF_K"]["value"], rows["RRF_K"]["origin"]) == (17, "environment: RRF_CONSTANT")
    assert (rows["RRF_CONSTANT"]["value"], rows["RRF_CONSTANT"]["origin"]) == (17, "environment")
    monkeypatch.setenv("RRF_K", "18")
    done = ragcorp("config", "--json")
    assert (done.code, done.json["error"]["field"]) == (2, "RRF_CONSTANT, RRF_K")


def test_doctor_finds_a_migrated_database_healthy(ragcorp: Command) -> None:
    done = ragcorp("doctor", "--json")
    status = {check["name"]: check["status"] for check in done.json["checks"]}
    assert done.code == 0, done.out
    assert done.json["ok"]
    wanted = ("python", "database", "server version", "pgvector", "schema", "indexes", "text search", "answerer")
    assert {name: status[name] for name in wanted} == dict.fromkeys(wanted, "ok")
    assert status["embedder"] == "skipped"


def test_doctor_names_a_missing_extra_and_what_goes_without_it(
    ragcorp: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "watchfiles" else object())
    results = {check["name"]: check for check in ragcorp("doctor", "--json").json["checks"]}
    missing = results["extra 'files'"]
    assert missing["status"] == "warning"
    assert "--watch" in missing["detail"]
    assert "pip install 'ragcorp[files]'" in missing["remedy"]


def test_version_and_help(ragcorp: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(ragcorp("--version", "--json").json) == {"version"}
    assert ragcorp("--help").code == 0
    assert ragcorp().code == 0
    shown = capsys.readouterr().out
    assert "ingest" in shown
    assert "doctor" in shown
