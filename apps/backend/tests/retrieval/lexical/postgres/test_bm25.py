"""BM25 by hand, what acts before the top k, and when the statistics are counted anew."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.lexical import bm25
from ragcorp.infrastructure.postgres.visibility.predicates import filtered, matching_documents, visibility
from ragcorp.infrastructure.postgres.workspaces.search_statistics import MAX_CHANGES, PostgresSparseStatistics
from support.retrieval.bm25 import Found, assert_in_step, frequencies, insert_chunks, reference, search, stored_counts
from support.storage.postgres import open_database
from support.storage.stored import where

HOME = "default"
VISIBLE = visibility(Principal())

STATISTICS = """
    SELECT t.chunks, t.total_length::float8 / nullif(t.chunks, 0),
           lexeme_frequencies(%(workspace)s, %(lexemes)s::text[])
    FROM bm25_totals(%(workspace)s) AS t
"""


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection[TupleRow]]:
    """As the application, which owns nothing."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def refresh(connection: Connection[TupleRow], workspace: str = HOME) -> bool:
    row = connection.execute("SELECT bm25_refresh(%s)", (workspace,)).fetchone()
    return bool(row and row[0])


def needs_refresh(connection: Connection[TupleRow], workspace: str = HOME) -> bool:
    row = connection.execute("SELECT bm25_needs_refresh(%s)", (workspace,)).fetchone()
    return bool(row and row[0])


def test_scores_are_those_worked_out_by_hand(connection: Connection[TupleRow]) -> None:
    """N = 4, avgdl = 3: damping .3 + .3 dl. idf(zorro) = ln(1 + 2.5/2.5), df 2; idf(luna) = ln(1 + 3.5/1.5), df 1."""
    first, second, third, _ = insert_chunks(
        connection, HOME, ["zorro zorro barco", "zorro luna barco monte", "barco", "nube monte barco nube"]
    )
    zorro, luna = math.log(2), math.log(1 + 3.5 / 1.5)
    result = search(connection, ["zorro", "luna"])
    assert result.hits == [
        (second, pytest.approx(2.2 / 2.5 * zorro + 2.2 / 2.5 * luna, abs=1e-9)),
        (first, pytest.approx(zorro * 4.4 / 3.2, abs=1e-9)),
    ]
    barco = math.log(1 + 0.5 / 4.5)
    assert search(connection, ["barco"]).hits[0] == (third, pytest.approx(barco * 2.2 / 1.6, abs=1e-9))


def test_a_weight_multiplies_and_a_repeated_lexeme_counts_once(connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, HOME, ["zorro luna", "luna", "monte"])
    once = search(connection, ["zorro", "luna"])
    assert search(connection, ["zorro", "luna", "zorro", "luna"]) == once
    halved = search(connection, ["zorro", "luna"], weights=[0.5, 0.5])
    assert [score for _, score in halved.hits] == pytest.approx([score / 2 for _, score in once.hits], abs=1e-8)
    assert search(connection, ["zorro", "luna"], weights=[0.0, 1.0]).hits == search(connection, ["luna"]).hits


@pytest.mark.parametrize("lexemes", [[], ["nada"], ["nada", ""]])
@pytest.mark.parametrize("workspace", [HOME, "another"])
def test_nothing_is_found_and_said(connection: Connection[TupleRow], lexemes: list[str], workspace: str) -> None:
    insert_chunks(connection, HOME, ["zorro luna"])
    result = search(connection, lexemes, principal=Principal(workspace=workspace))
    assert result == Found(hits=[], proven=0, cut=False, scored=0, rounds=1)


@pytest.mark.parametrize("tf", [14, 15, 16, 40, 255])
def test_a_frequency_beyond_four_bits_is_exact(connection: Connection[TupleRow], tf: int) -> None:
    ids = insert_chunks(connection, HOME, [" ".join(["zorro"] * tf), "zorro luna", "monte " * 9])
    damping = 0.3 + 0.9 * tf / ((tf + 2 + 9) / 3)
    idf = math.log(1 + 1.5 / 2.5)
    assert dict(search(connection, ["zorro"]).hits)[ids[0]] == pytest.approx(idf * 2.2 * tf / (tf + damping), abs=1e-8)


def test_lexemes_without_positions_count_once(connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, HOME, ["El REQ-2024-001 y el REQ-2024-001.", "otro REQ-2024-010"], language="es")
    counts = stored_counts(connection, HOME)
    lexemes = ["req-2024-001", "2024"]
    assert all(any(lexeme in held for held in counts.values()) for lexeme in lexemes)
    assert search(connection, lexemes).hits == [
        (chunk_id, pytest.approx(score, abs=1e-8)) for chunk_id, score in reference(counts, lexemes)
    ]
    assert_in_step(connection)


def test_equal_scores_go_by_id_and_answers_repeat_to_the_last_bit(dsn: str, connection: Connection[TupleRow]) -> None:
    texts = ["zorro luna", "luna zorro"] * 30 + ["monte"] * 10
    ids = insert_chunks(connection, HOME, texts)
    first = search(connection, ["luna", "zorro"], limit=60)
    assert first.ids == ids[:60]
    refresh(connection)
    again = search(connection, ["luna", "zorro"], limit=60)
    with psycopg.connect(dsn, autocommit=True) as other:
        assert search(other, ["luna", "zorro"], limit=60) == again
        assert search(other, ["zorro", "luna"], limit=60).hits == again.hits


# what acts before the top k


def graded(connection: Connection[TupleRow], *, count: int = 60, **attributes: object) -> list[int]:
    """Insert chunks that hold `zorro` in fewer and fewer words: the shorter, the better."""
    texts = ["zorro" + " relleno" * n for n in range(count)]
    return insert_chunks(connection, HOME, texts, **attributes)  # type: ignore[arg-type]


@pytest.mark.parametrize("few", [0, 20], ids=["scanned", "scored one by one"])
def test_filters_act_before_the_top_k(
    connection: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(bm25, "FEW", few)
    monkeypatch.setattr(bm25, "bm25_top", bm25.bm25_top.__wrapped__)
    graded(connection)
    contracts = graded(connection, artifact_type="contract")
    refresh(connection)
    result = search(connection, ["zorro", "monte"], filters=where(artifact_type="contract"), limit=10)
    everything = reference(stored_counts(connection, HOME), ["zorro", "monte"])
    assert (
        result.hits
        == [(chunk_id, pytest.approx(score, abs=1e-8)) for chunk_id, score in everything if chunk_id in set(contracts)][
            :10
        ]
    )
    assert result.proven == 10
    assert not result.cut
    nothing = search(connection, ["zorro"], filters=where(artifact_type="minutes"), limit=10)
    assert (nothing.hits, nothing.cut) == ([], False)


def test_visibility_acts_before_the_top_k(connection: Connection[TupleRow]) -> None:
    """Also where so many of the best are hidden that the first look does not reach beyond them."""
    secret = graded(connection, count=300, sensitivity=Sensitivity.RESTRICTED)
    insert_chunks(connection, HOME, ["monte"] * 100)
    public = insert_chunks(connection, HOME, ["zorro" + " relleno" * n for n in range(300, 330)])
    refresh(connection)
    reader = Principal(clearance=Sensitivity.NORMAL)
    result = search(connection, ["zorro"], principal=reader, limit=5)
    assert result.ids == public[:5]
    assert result.proven == 5
    assert search(connection, ["zorro"], limit=5).ids == secret[:5]


def test_workspaces_do_not_leak_into_one_another(connection: Connection[TupleRow]) -> None:
    ours = ["zorro luna", "zorro", "monte"]
    insert_chunks(connection, HOME, ours)
    refresh(connection)
    alone = search(connection, ["zorro", "luna"])
    insert_chunks(connection, "theirs", ["zorro"] * 50 + ["luna relleno " * 20] * 50)
    refresh(connection, "theirs")
    assert search(connection, ["zorro", "luna"]) == alone
    assert frequencies(connection, HOME, ["zorro", "luna", "nada"]) == {"zorro": 2, "luna": 1, "nada": 0}
    assert frequencies(connection, "theirs", ["zorro", "luna"]) == {"zorro": 50, "luna": 50}
    assert frequencies(connection, "nobody's", ["zorro"]) == {"zorro": 0}


def test_a_budget_that_cuts_says_so_and_what_is_proven_stays_true(connection: Connection[TupleRow]) -> None:
    texts = [f"zorro {'luna ' * (n % 4)}{'relleno ' * (n % 23)}" for n in range(400)]
    insert_chunks(connection, HOME, texts)
    refresh(connection)
    lexemes = ["zorro", "luna", "relleno"]
    expected = reference(stored_counts(connection, HOME), lexemes)
    whole = search(connection, lexemes, limit=100)
    assert not whole.cut
    assert whole.proven >= bm25.CERTIFIED
    cut = search(connection, lexemes, limit=100, budget=60)
    assert cut.cut
    assert cut.scored < whole.scored
    for result in (whole, cut):
        assert result.ids[: result.proven] == [chunk_id for chunk_id, _ in expected[: result.proven]]


def test_a_budget_that_no_level_fits_takes_some_and_proves_nothing(connection: Connection[TupleRow]) -> None:
    """All 400 have one impact: no score tells them apart, and less than all of them is none."""
    insert_chunks(connection, HOME, ["zorro luna"] * 400)
    refresh(connection)
    result = search(connection, ["zorro"], limit=30, budget=100)
    assert (len(result.hits), result.proven, result.cut, result.scored) == (30, 0, True, 100)
    assert search(connection, ["zorro"], limit=30, budget=100) == result
    whole = search(connection, ["zorro"], limit=30)
    assert (len(whole.hits), whole.proven, whole.cut) == (30, 30, False)


def test_a_term_of_hardly_any_weight_is_scanned_where_everything_is_wanted(connection: Connection[TupleRow]) -> None:
    """All of two million chunks hold it, so its idf is 3e-7."""
    row = connection.execute(
        "SELECT bm25_cut(ARRAY[3e-7, 2.0], array_fill(2e6::float8, ARRAY[20]), bm25_bounds(60), 1e-9),"
        " bm25_cut(ARRAY[3e-7, 2.0], array_fill(2e6::float8, ARRAY[20]), bm25_bounds(60), 1e-9, 2)"
    ).fetchone()
    assert row == ([0, 0], [0, 10])


@pytest.mark.parametrize("average", [5.0, 20.0, 60.0, 61.0, 150.0, 1000.0])
def test_no_posting_adds_more_than_its_level_allows(connection: Connection[TupleRow], average: float) -> None:
    """Over all tf and lengths: what does not reach level n stays below the bound at [n + 1]."""
    exceeding = connection.execute(
        """
        SELECT tf, length, level
        FROM bm25_bounds(%(average)s) AS bounds, generate_series(1, 300) AS tf,
             LATERAL generate_series(tf, tf + 2000, 1 + tf / 3) AS length,
             LATERAL (SELECT bm25_level(least(tf, 15), length) AS level) AS reached
        WHERE tf * 2.2::float8 / (tf + 1.2 * (0.25 + 0.75 * length / %(average)s)) >= bounds[level + 2]
        """,
        {"average": average},
    ).fetchall()
    assert exceeding == []


def test_a_search_of_a_large_workspace_scores_a_part_of_what_matches(connection: Connection[TupleRow]) -> None:
    for batch in range(4):
        texts = [f"zorro {'luna ' * (n % 7 == batch)}{'relleno ' * (n * 7 % 61)}" for n in range(500)]
        insert_chunks(connection, HOME, texts)
    refresh(connection)
    result = search(connection, ["zorro", "luna"])
    assert result.scored < 1000
    assert result.hits == [
        (chunk_id, pytest.approx(score, abs=1e-8))
        for chunk_id, score in reference(stored_counts(connection, HOME), ["zorro", "luna"])[:20]
    ]


# lexemes whose hashes collide


def colliding(connection: Connection[TupleRow]) -> tuple[str, str]:
    row = connection.execute(
        """
        SELECT min(lexeme), max(lexeme)
        FROM bm25_workspaces w, generate_series(1, 150000) AS n, LATERAL (SELECT 'w' || n AS lexeme) AS named
        WHERE w.workspace = %s
        GROUP BY bm25_key(w.id, lexeme) HAVING count(*) = 2 ORDER BY 1 LIMIT 1
        """,
        (HOME,),
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def test_a_colliding_lexeme_is_neither_found_nor_evidence(connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, HOME, ["monte"])
    held, asked = colliding(connection)
    (chunk_id,) = insert_chunks(connection, HOME, [f"{held} luna"])
    assert search(connection, [held]).ids == [chunk_id]
    assert search(connection, [asked]).hits == []
    values = VISIBLE.values | {"lexemes": [asked, held], "ids": [chunk_id]}
    holding = connection.execute(bm25.chunks_holding(limit=5, visible=VISIBLE.sql), values).fetchall()
    assert [(row[0], row[2]) for row in holding] == [(2, chunk_id)]
    ((_, _, counted),) = connection.execute(bm25.EVIDENCE, values).fetchall()
    assert counted[0] == 0
    assert counted[1] == 1


def test_evidence_has_tf_in_the_order_of_the_lexemes(connection: Connection[TupleRow]) -> None:
    first, second = insert_chunks(connection, HOME, ["zorro luna zorro", "monte"])
    (elsewhere,) = insert_chunks(connection, "theirs", ["zorro"])
    values = VISIBLE.values | {"lexemes": ["luna", "nada", "zorro"], "ids": [second, elsewhere, first]}
    assert sorted(connection.execute(bm25.EVIDENCE, values).fetchall()) == [
        (first, 3, [1, 0, 2]),
        (second, 1, [0, 0, 0]),
    ]
    assert connection.execute(STATISTICS, values).fetchall() == [(2, 2.0, [1, 0, 1])]


def test_chunks_that_hold_a_lexeme_come_by_lexeme_and_strength(connection: Connection[TupleRow]) -> None:
    ids = insert_chunks(connection, HOME, ["zorro luna monte nube", "zorro", "zorro zorro", "luna"])
    insert_chunks(connection, HOME, ["zorro"], sensitivity=Sensitivity.RESTRICTED)
    visible = visibility(Principal(clearance=Sensitivity.NORMAL))
    rows = connection.execute(
        bm25.chunks_holding(limit=2, visible=visible.sql), visible.values | {"lexemes": ["luna", "nada", "zorro"]}
    ).fetchall()
    assert rows == [
        (1, "luna", ids[3], 1, 1),
        (1, "luna", ids[0], 1, 4),
        (3, "zorro", ids[2], 2, 2),
        (3, "zorro", ids[1], 1, 1),
    ]


# statistics


def test_statistics_never_go_missing(connection: Connection[TupleRow]) -> None:
    """Not before the first refresh, not for a lexeme that came after it, not for one of many chunks."""
    insert_chunks(connection, HOME, ["zorro"] * 40 + ["monte"] * 5)
    assert frequencies(connection, HOME, ["zorro", "monte"]) == {"zorro": 40, "monte": 5}
    refresh(connection)
    assert connection.execute("SELECT count(*) FROM bm25_statistics").fetchone() == (1,)
    insert_chunks(connection, HOME, ["zorro nuevo"] * 3)
    # the snapshot's for a frequent lexeme, the present one for others; N is always the present one
    assert frequencies(connection, HOME, ["zorro", "monte", "nuevo"]) == {"zorro": 40, "monte": 5, "nuevo": 3}
    row = connection.execute(STATISTICS, {"workspace": HOME, "lexemes": []}).fetchone()
    assert row == (48, 51 / 48, [])
    refresh(connection)
    assert frequencies(connection, HOME, ["zorro"]) == {"zorro": 43}


def test_a_refresh_is_due_beyond_five_percent(connection: Connection[TupleRow]) -> None:
    assert not needs_refresh(connection)
    ids = insert_chunks(connection, HOME, ["zorro"] * 100)
    assert needs_refresh(connection)
    assert refresh(connection)
    assert not needs_refresh(connection)
    insert_chunks(connection, HOME, ["zorro"] * 3)
    connection.execute("DELETE FROM chunks WHERE id = ANY(%s)", (ids[:2],))
    assert not needs_refresh(connection)
    connection.execute("DELETE FROM chunks WHERE id = %s", (ids[2],))
    assert needs_refresh(connection)
    assert not needs_refresh(connection, "theirs")
    refresh(connection)
    connection.execute("UPDATE chunks SET sensitivity = 2")
    assert not needs_refresh(connection)


def test_one_session_refreshes_and_others_go_on(dsn: str, connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, HOME, ["zorro"] * 40)
    with psycopg.connect(dsn) as first:
        assert refresh(first)
        assert not refresh(connection)
        assert len(search(connection, ["zorro"]).hits) == 20
        insert_chunks(connection, HOME, ["zorro"])
        first.commit()
    assert refresh(connection)
    assert_in_step(connection)
    assert not refresh(connection, "nobody's")


def test_refreshing_from_python(dsn: str, connection: Connection[TupleRow]) -> None:
    async def run() -> list[bool]:
        async with open_database(dsn) as database:
            statistics = PostgresSparseStatistics(database=database)
            answers = [await statistics.refresh_if_stale(HOME)]
            insert_chunks(connection, HOME, ["zorro"] * 100)
            answers += [await statistics.refresh_if_stale(HOME), await statistics.refresh_if_stale(HOME)]
            for _ in range(MAX_CHANGES // 2 + 1):
                ids = insert_chunks(connection, HOME, ["luna"])
                connection.execute("DELETE FROM chunks WHERE id = %s", (ids[0],))
                if needs_refresh(connection):
                    connection.execute("UPDATE bm25_changes SET changed = 0")
            answers += [await statistics.refresh_if_stale(HOME), await statistics.refresh(HOME)]
            return answers

    assert asyncio.run(run()) == [False, True, False, False, True]
    assert connection.execute("SELECT count(*) FROM bm25_changes").fetchone() == (0,)
    assert_in_step(connection)


def test_many_changes_become_one_row_of_the_same_sum(connection: Connection[TupleRow]) -> None:
    for _ in range(5):
        insert_chunks(connection, HOME, ["zorro luna"])
    before = connection.execute("SELECT * FROM bm25_totals(%s)", (HOME,)).fetchone()
    assert connection.execute("SELECT bm25_compact(%s)", (HOME,)).fetchone() == (True,)
    assert connection.execute("SELECT count(*) FROM bm25_changes").fetchone() == (1,)
    assert connection.execute("SELECT * FROM bm25_totals(%s)", (HOME,)).fetchone() == before


def test_plans_made_over_empty_tables_serve_full_ones(connection: Connection[TupleRow]) -> None:
    """A session keeps its generic plans: none may read all chunks of a workspace to find one."""
    narrow = where(artifact_type="contract")
    filters = {"filtered": filtered(narrow).sql, "matching": matching_documents(Principal(), narrow)}
    values = VISIBLE.values | filtered(narrow).values
    values |= {"lexemes": ["zorro"], "weights": None, "theta": None, "ids": [1]}
    connection.execute(bm25.SETTINGS.replace("true)", "false)"))
    for statement in (
        bm25.bm25_top(limit=10, visible=VISIBLE.sql),
        bm25.bm25_top(limit=10, visible=VISIBLE.sql, **filters),
        bm25.chunks_holding(limit=10, visible=VISIBLE.sql),
        bm25.EVIDENCE,
    ):
        plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {statement}", values))
        assert "chunks_workspace" not in plan
        assert "Seq Scan" not in plan
