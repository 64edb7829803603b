"""`ragcorp eval` over a small set: what it reports, what it writes, and that nothing of it stays in the database."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import psycopg
import pytest
from anyio.from_thread import start_blocking_portal
from psycopg import sql

from support.models.embedders import TEST_MODEL, HashingEmbedder
from support.models.openai_server import FakeOpenAI, openai_server
from support.processes.command_line import Done, Running, run_here

Command = Callable[..., Done]

PASSAGES = {
    "viajes": ("Viajes", "El hotel se paga hasta 95 euros por noche."),
    "contrato": ("", "El contrato con Acme Corporation vence el 30 de junio."),
    "pedido": ("Pedido REQ-2024-001", "Se pide una columna con el costo unitario."),
    "similar": ("Pedido REQ-2024-010", "Se pide una columna con el precio final."),
    "vacaciones": ("Vacaciones", "Cada empleado tiene 22 días hábiles de vacaciones."),
}
QUERIES = {
    "q1": ("¿cuánto se paga de hotel por noche?", "question", {"viajes": 2}),
    "q2": ("Acme Corporation", "name", {"contrato": 1}),
    "q3": ("REQ-2024-001", "name", {"pedido": 2, "similar": 1}),
    "q4": ("días de vacaciones", "question", {"vacaciones": 1, "unknown": 1}),
    "q5": ("nadie sabe esto", "question", {}),
}
KEPT = {"key_secret", "alembic_version", "embedding_models", "item_name_key"}
"""Tables whose rows are not a workspace's."""


@pytest.fixture
def eval_set(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    corpus = [{"_id": name, "title": title, "text": text} for name, (title, text) in PASSAGES.items()]
    queries = [{"_id": name, "text": text, "kind": kind} for name, (text, kind, _) in QUERIES.items()]
    for file, entries in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        (folder / file).write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    rows = [f"{query}\t{name}\t{grade}" for query, (_, _, grades) in QUERIES.items() for name, grade in grades.items()]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def provider() -> Iterator[FakeOpenAI]:
    """A provider whose vectors bring texts together that share words."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(openai_server()) as fake:
        fake.vector = HashingEmbedder().vector
        yield fake


@pytest.fixture
def environment(provider: FakeOpenAI, dsn: str, tmp_path: Path) -> dict[str, str]:
    return {
        "DATABASE_URL": dsn,
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": TEST_MODEL.name,
        "EMBEDDING_DIM": str(TEST_MODEL.dimensions),
        "OPENAI_BASE_URL": provider.base_url,
        "OPENAI_API_KEY": "sk-none",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


@pytest.fixture
def ragcorp(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Command:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return run_here


def rows_left(dsn: str) -> dict[str, int]:
    """Return the tables that hold rows, with their number."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT table_name FROM information_schema.tables"
                " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
            )
        ]
        counts = {}
        for name in sorted(set(tables) - KEPT):
            row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name))).fetchone()
            assert row is not None
            counts[name] = row[0]
    assert {"documents", "chunks", "chunk_embeddings", "embedding_backlog", "embedding_cache"} <= counts.keys()
    return {name: count for name, count in counts.items() if count}


def test_the_report_has_every_run_and_kind_and_stdout_is_the_json_alone(ragcorp: Command, eval_set: Path) -> None:
    done = ragcorp("eval", str(eval_set), "--json", "--resamples", "100")
    assert done.code == 0, done.out
    report = done.json
    assert (report["set"], report["documents"], report["queries"]) == ("tiny", 5, 4)
    assert list(report["runs"]) == ["dense", "sparse", "hybrid", "linear"]
    for run in report["runs"].values():
        assert run["queries"] == 4
        assert set(run["interval"]) == {"ndcg@10", "recall@10", "mrr@10"}
        for metric, (low, high) in run["interval"].items():
            assert 0 <= low <= run[metric] <= high <= 1
        assert 0 < run["latency_ms"]["p50"] <= run["latency_ms"]["p95"]
        assert run["degraded"] == {}
    assert report["runs"]["dense"]["difference"] is None
    assert report["runs"]["sparse"]["difference"]["to"] == "dense"
    assert report["runs"]["sparse"]["mrr@10"] == 1.0
    # each relevant passage that the corpus holds is found: one of two for q4
    assert report["runs"]["hybrid"]["recall@10"] == pytest.approx(3.5 / 4)
    assert {kind: runs["hybrid"]["queries"] for kind, runs in report["kinds"].items()} == {"name": 2, "question": 2}
    for runs in report["kinds"].values():
        assert list(runs) == list(report["runs"])
        low, high = runs["linear"]["interval"]
        assert low <= runs["linear"]["ndcg@10"] <= high
        assert runs["linear"]["intervals"]["ndcg@10"] == [low, high]
        assert 0 < runs["linear"]["latency_ms"]["p50"] <= runs["linear"]["latency_ms"]["p95"]
    assert "Ingesting the corpus: 5 of 5 passages" in done.err
    assert "Searching dense: 4 of 4 queries" in done.err


def test_nothing_stays_in_the_database(ragcorp: Command, eval_set: Path, dsn: str) -> None:
    assert ragcorp("eval", str(eval_set), "--profile", "hybrid", "--json").code == 0
    assert rows_left(dsn) == {}


def test_what_a_killed_evaluation_left_goes_with_the_next_one(ragcorp: Command, eval_set: Path, dsn: str) -> None:
    old, recent, similar = f"eval-{'0' * 32}", f"eval-{'1' * 32}", "eval-ours"
    with psycopg.connect(dsn, autocommit=True) as connection:
        for workspace, age in ((old, "2 days"), (recent, "1 hour"), (similar, "2 days")):
            connection.execute(
                """INSERT INTO documents (id, workspace, external_id, text, content_hash, chunker, chunk_count,
                                          media_type, filename, size_bytes, updated_at)
                   VALUES (gen_random_uuid(), %s, 'x', 'x', '', '', 0, 'text/plain', 'x', 1, now() - %s::interval)""",
                (workspace, age),
            )
    assert ragcorp("eval", str(eval_set), "--profile=sparse").code == 0
    with psycopg.connect(dsn) as connection:
        left = {workspace for (workspace,) in connection.execute("SELECT workspace FROM documents")}
    assert left == {recent, similar}


def test_what_others_have_stored_is_neither_searched_nor_removed(ragcorp: Command, eval_set: Path, dsn: str) -> None:
    folder = eval_set.parent / "ours"
    folder.mkdir()
    (folder / "viajes.md").write_text("# Viajes\n\nEl hotel se paga hasta 95 euros por noche.\n", encoding="utf-8")
    assert ragcorp("ingest", str(folder)).code == 0
    before = rows_left(dsn)
    report = ragcorp("eval", str(eval_set), "--json").json
    assert report["runs"]["sparse"]["mrr@10"] == 1.0
    assert rows_left(dsn) == before
    assert ragcorp("search", "hotel por noche", "--json").json["results"][0]["external_id"] == "viajes.md"


def test_a_failure_in_the_middle_leaves_nothing_either(
    ragcorp: Command, eval_set: Path, dsn: str, provider: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragcorp.application.embedding.embed_pending.RETRY_SECONDS", 0.1)
    monkeypatch.setattr("ragcorp.application.workspaces.settle.POLL_SECONDS", 0.05)
    provider.always = "401"
    done = ragcorp("eval", str(eval_set), "--json")
    assert (done.code, done.json["error"]["code"]) == (3, "embedder_unavailable")
    assert rows_left(dsn) == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_evaluation_leaves_nothing(
    environment: dict[str, str], eval_set: Path, dsn: str, provider: FakeOpenAI, number: signal.Signals
) -> None:
    provider.always = "hang"
    running = Running.start("eval", str(eval_set), "--json", env=environment)
    running.wait_for("Ingesting the corpus")
    assert rows_left(dsn)["chunks"] == 5
    done = running.stop(number)
    assert (done.code, done.json["error"]["code"]) == (130, "interrupted")
    assert "Traceback" not in done.err
    assert rows_left(dsn) == {}


def test_embeddings_are_kept_between_evaluations(
    ragcorp: Command, eval_set: Path, provider: FakeOpenAI, tmp_path: Path
) -> None:
    assert ragcorp("eval", str(eval_set), "--profile=dense", "--json").code == 0
    asked = [text for seen in provider.seen for text in seen.body["input"]]
    assert sorted(asked) == sorted(
        [f"{title}. {text}" if title else text for title, text in PASSAGES.values()]
        + [text for text, _, grades in QUERIES.values() if grades]
    )
    assert list((tmp_path / "cache" / "ragcorp" / "embeddings").iterdir())
    provider.seen.clear()
    assert ragcorp("eval", str(eval_set), "--json").code == 0
    assert provider.seen == []
    assert ragcorp("eval", str(eval_set), "--profile=dense", "--cache-dir", str(tmp_path / "other")).code == 0
    assert provider.seen


def test_without_a_model_text_is_evaluated_alone(
    ragcorp: Command, eval_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")
    monkeypatch.delenv("EMBEDDING_MODEL")
    monkeypatch.delenv("EMBEDDING_DIM")
    done = ragcorp("eval", str(eval_set), "--json")
    assert done.code == 0, done.out
    assert list(done.json["runs"]) == ["sparse", "hybrid", "linear"]
    assert done.json["runs"]["hybrid"]["degraded"] == {"dense:no_embedder": 4}
    assert "text alone" in done.err
    for arguments in (["--profile", "dense"], ["--calibrate"]):
        refused = ragcorp("eval", str(eval_set), *arguments, "--json")
        assert (refused.code, refused.json["error"]["field"]) == (2, "EMBEDDING_PROVIDER")


def test_profiles_are_named_as_they_were_written(ragcorp: Command, eval_set: Path) -> None:
    report = ragcorp("eval", str(eval_set), "--profile", "hybrid:k=1,full_text=0", "--profile=dense", "--json").json
    assert list(report["runs"]) == ["hybrid:k=1,full_text=0", "dense"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--profile", "fancy"], "--profile"),
        (["--profile", "grep"], "--profile"),
        (["--profile", "files:k=20"], "--profile"),
        (["--profile", "hybrid:k"], "--profile"),
        (["--profile", "hybrid:k=0.5"], "--profile"),
        (["--profile", "hybrid:nothing=1"], "fusion.weights"),
        (["--compare", "dense", "dense"], "--compare"),
        (["--every", "0"], "--every"),
        (["--save", "."], "path"),
    ],
)
def test_what_cannot_be_done_is_refused(
    ragcorp: Command, eval_set: Path, dsn: str, arguments: list[str], field: str
) -> None:
    done = ragcorp("eval", str(eval_set), *arguments, "--json")
    assert (done.code, done.json["error"]["field"]) == (2, field)
    assert rows_left(dsn) == {}


def test_a_bad_file_is_named_with_its_line_before_anything_is_stored(ragcorp: Command, eval_set: Path) -> None:
    with (eval_set / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    done = ragcorp("eval", str(eval_set), "--json")
    assert done.code == 2
    assert done.json["error"]["message"] == "queries.jsonl, line 6 is no JSON."
    assert "Ingesting" not in done.err


def test_runs_are_saved_and_compared_without_a_database(
    ragcorp: Command, eval_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, trec = tmp_path / "out" / "runs.json", tmp_path / "trec"
    made = ragcorp(
        "eval", str(eval_set), "--compare", "dense", "sparse", "--save", str(saved), "--trec", str(trec), "--json"
    )
    assert made.code == 0, made.out
    assert list(made.json["runs"]) == ["dense", "sparse"]
    lines = [line.split(" ") for line in (trec / "sparse.trec").read_text().splitlines()]
    assert {(line[1], line[5]) for line in lines} == {("Q0", "sparse")}
    best = {line[0]: line[2] for line in lines if line[3] == "1"}
    assert best == {"q1": "viajes", "q2": "contrato", "q3": "pedido", "q4": "vacaciones"}

    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    first, second = f"{saved}:dense", str(trec / "sparse.trec")
    again = ragcorp("eval", str(eval_set), "--compare", first, second, "--json")
    assert again.code == 0, again.out
    before, after = made.json["comparison"], again.json["comparison"]
    assert (after["a"], after["b"]) == (first, second)
    assert {**after, "a": "dense", "b": "sparse"} == before
    assert before["ndcg@10"]["value"] == pytest.approx(
        made.json["runs"]["sparse"]["ndcg@10"] - made.json["runs"]["dense"]["ndcg@10"], abs=2e-6
    )
    assert set(before["kinds"]) == {"name", "question"}
    refused = ragcorp("eval", str(eval_set), "--compare", str(saved), second, "--json")
    assert (refused.code, refused.json["error"]["limit"]) == (2, "dense, sparse")


def test_the_tables_name_runs_kinds_and_queries(ragcorp: Command, eval_set: Path) -> None:
    done = ragcorp("eval", str(eval_set), "--compare", "sparse:window=1", "hybrid")
    assert done.code == 0, done.err
    for word in ("tiny: 5 passages, 4 queries", "sparse:window=1", "question", "From sparse:window=1 to hybrid", "q3"):
        assert word in done.out


def test_a_sample_and_a_variant_change_the_queries(ragcorp: Command, eval_set: Path, provider: FakeOpenAI) -> None:
    report = ragcorp("eval", str(eval_set), "--every=3", "--variant=accents", "--profile=dense", "--json").json
    assert (report["queries"], report["every"], report["variant"]) == (2, 3, "accents")
    asked = [text for seen in provider.seen for text in seen.body["input"]]
    assert "¿cuanto se paga de hotel por noche?" in asked
    assert "dias de vacaciones" in asked
    assert "Acme Corporation" not in asked


def stored_weights(dsn: str) -> tuple[float | None, float | None]:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT evidence_weight, identifier_weight FROM embedding_models WHERE name = %s", (TEST_MODEL.name,)
        ).fetchone()
    assert row is not None
    return row[0], row[1]


def stored_distance(dsn: str) -> float | None:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT distance_threshold FROM embedding_models WHERE active").fetchone()
    assert row
    return row[0]


def test_calibration_estimates_the_weights_and_stores_them_with_the_model(
    ragcorp: Command, tmp_path: Path, dsn: str
) -> None:
    folder = tmp_path / "larger"
    folder.mkdir()
    passages = [{"_id": f"p{n}", "text": f"contrato {n} de la sede {n % 7}"} for n in range(50)]
    queries = [{"_id": f"q{n}", "text": f"contrato {n}"} for n in range(10)]
    for name, lines in (("corpus", passages), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "qrels.tsv").write_text("".join(f"q{n}\tp{n}\t1\n" for n in range(10)))
    done = ragcorp("eval", str(folder), "--calibrate", "--json")
    assert done.code == 0, done.out
    results = done.json["calibration"]
    assert (results["queries"], results["passages"], results["stored"]) == (10, 50, True)
    assert results["evidence_weight"] == pytest.approx(4 * results["deviation"], abs=1e-5)
    assert results["identifier_weight"] == pytest.approx(2 * results["deviation"], abs=1e-5)
    assert results["deviation"] > 0
    assert stored_weights(dsn) == pytest.approx((results["evidence_weight"], results["identifier_weight"]), abs=1e-6)
    assert results["distance_threshold"] is None  # ten queries have ten relevant passages
    assert stored_distance(dsn) is None


def test_calibration_measures_the_distance_threshold_and_stores_it_with_the_model(
    ragcorp: Command, tmp_path: Path, dsn: str
) -> None:
    folder = tmp_path / "measured"
    folder.mkdir()
    passages = [{"_id": f"p{n}", "text": f"contrato {n} de la sede {n % 7}"} for n in range(60)]
    queries = [{"_id": f"q{n}", "text": passages[n % 60]["text"]} for n in range(120)]
    for name, lines in (("corpus", passages), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "qrels.tsv").write_text("".join(f"q{n}\tp{n % 60}\t1\n" for n in range(120)))
    results = ragcorp("eval", str(folder), "--calibrate", "--json").json["calibration"]
    # each question is its passage, word for word: all distances are 0, up to the width of a float
    assert results["distance_threshold"] == 0.001
    assert stored_distance(dsn) == 0.001


def test_a_calibration_on_a_handful_of_passages_is_shown_and_not_stored(
    ragcorp: Command, eval_set: Path, dsn: str
) -> None:
    results = ragcorp("eval", str(eval_set), "--calibrate", "--json").json["calibration"]
    assert (results["queries"], results["passages"], results["stored"]) == (4, 5, False)
    assert stored_weights(dsn) == (None, None)


def test_a_plot_has_a_bar_for_each_run_and_kind(ragcorp: Command, eval_set: Path, tmp_path: Path) -> None:
    pytest.importorskip("pygal")
    path = tmp_path / "plot.svg"
    assert ragcorp("eval", str(eval_set), "--profile=dense", "--profile=sparse", "--plot", str(path)).code == 0
    drawn = ET.parse(path).getroot()
    assert drawn.tag.endswith("svg")
    text = "".join(drawn.itertext())
    for word in ("tiny", "dense", "sparse", "name", "question", "all"):
        assert word in text
    bars = [node for node in drawn.iter() if node.get("class") == "bar"]
    assert len(bars) == 2 * 3
    assert "http://" not in "".join(node.get("src", "") + node.get("href", "") for node in drawn.iter())


def test_a_plot_without_its_library_is_refused_before_the_work(
    ragcorp: Command, eval_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragcorp.infrastructure.evaluation_sets.plot.find_spec", lambda name: None)
    done = ragcorp("eval", str(eval_set), "--plot", str(tmp_path / "plot.svg"), "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "missing_extra")
    assert "ragcorp[eval]" in done.json["error"]["remedy"]
    assert "Ingesting" not in done.err
