"""The index stays in step with the chunks and the search equals the formula, whatever is written, by whomever."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest
from alembic import command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection
from psycopg.rows import TupleRow

from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.administration.migrations import alembic_config, migrate
from ragcorp.infrastructure.postgres.lexical import bm25
from support.retrieval.bm25 import (
    assert_in_step,
    content_of,
    frequencies,
    insert_chunks,
    reference,
    search,
    stored_counts,
)

WORKSPACES = ("east", "west")
VOCABULARY = [content_of(number) for number in range(300)]


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection[TupleRow]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def assert_search_is_the_formula(
    connection: Connection[TupleRow], workspace: str, lexemes: Sequence[str], **options: int
) -> None:
    """As many as ``certified`` asks for, in order, to 1e-6, and as many more as are proven."""
    counts = stored_counts(connection, workspace)
    expected = reference(counts, lexemes, df=frequencies(connection, workspace, lexemes))
    result = search(connection, lexemes, principal=Principal(workspace=workspace), limit=40, **options)
    assert result.proven >= min(options.get("certified", bm25.CERTIFIED), len(expected))
    assert result.ids[: result.proven] == [chunk_id for chunk_id, _ in expected[: result.proven]]
    assert [score for _, score in result.hits[: result.proven]] == pytest.approx(
        [score for _, score in expected[: result.proven]], abs=1e-6
    )


# any sequence of writes

WORD = st.sampled_from(VOCABULARY[:12])
TEXT = st.lists(WORD, max_size=30).map(" ".join)
TEXTS = st.lists(TEXT, min_size=1, max_size=8)
WORKSPACE = st.sampled_from(WORKSPACES)
NUMBER = st.integers(0, 50)
WRITE = st.one_of(
    st.tuples(st.just("insert"), WORKSPACE, TEXTS),
    st.tuples(st.just("rewrite"), NUMBER, TEXT),
    st.tuples(st.just("renumber"), NUMBER, st.just(None)),
    st.tuples(st.just("move"), NUMBER, WORKSPACE),
    st.tuples(st.just("relabel"), WORKSPACE, st.just(None)),
    st.tuples(st.just("delete"), NUMBER, st.just(None)),
    st.tuples(st.just("delete document"), NUMBER, st.just(None)),
    st.tuples(st.just("delete workspace"), WORKSPACE, st.just(None)),
    st.tuples(st.just("refresh"), WORKSPACE, st.just(None)),
    st.tuples(st.just("compact"), WORKSPACE, st.just(None)),
    st.tuples(st.just("roll back"), WORKSPACE, TEXTS),
)
NTH_CHUNK = "(SELECT id FROM chunks ORDER BY id OFFSET %s LIMIT 1)"
STATEMENTS = {
    "rewrite": f"UPDATE chunks SET content = %(value)s WHERE id = {NTH_CHUNK % '%(key)s'}",
    "renumber": f"UPDATE chunks SET id = id + 1000000 WHERE id = {NTH_CHUNK % '%(key)s'}",
    "move": f"UPDATE chunks SET workspace = %(value)s WHERE id = {NTH_CHUNK % '%(key)s'}",
    "relabel": "UPDATE chunks SET sensitivity = 2 WHERE workspace = %(key)s",
    "delete": f"DELETE FROM chunks WHERE id = {NTH_CHUNK % '%(key)s'}",
    "delete document": (
        f"DELETE FROM documents WHERE id = (SELECT document_id FROM chunks WHERE id = {NTH_CHUNK % '%(key)s'})"
    ),
    "delete workspace": "DELETE FROM documents WHERE workspace = %(key)s",
    "refresh": "SELECT bm25_refresh(%(key)s)",
    "compact": "SELECT bm25_compact(%(key)s)",
}


def write(connection: Connection[TupleRow], kind: str, key: Any, value: Any) -> None:
    if kind == "insert":
        insert_chunks(connection, key, value)
    elif kind == "roll back":
        with connection.transaction(force_rollback=True):
            insert_chunks(connection, key, value)
            connection.execute("DELETE FROM documents WHERE workspace = %s", (key,))
    else:
        connection.execute(STATEMENTS[kind], {"key": key, "value": value})


@pytest.mark.parametrize("examples", [25, pytest.param(400, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
def test_any_sequence_of_writes_leaves_the_formula(
    connection: Connection[TupleRow], owner_dsn: str, examples: int
) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(WRITE, max_size=12), st.lists(WORD, min_size=1, max_size=5))
    def holds(writes: list[tuple[str, Any, Any]], lexemes: list[str]) -> None:
        with psycopg.connect(owner_dsn, autocommit=True) as owner:
            owner.execute("TRUNCATE documents CASCADE")
        assert_in_step(connection)
        for kind, key, value in writes:
            write(connection, kind, key, value)
        assert_in_step(connection)
        for workspace in WORKSPACES:
            assert_search_is_the_formula(connection, workspace, lexemes)

    holds()


# sizes at which the search prunes


def zipfian(rng: random.Random, words: int) -> str:
    return " ".join(VOCABULARY[min(299, int(rng.paretovariate(0.6)) - 1)] for _ in range(words))


def fill(connection: Connection[TupleRow], rng: random.Random, *, chunks: int, longest: int = 120) -> list[int]:
    ids: list[int] = []
    while len(ids) < chunks:
        texts = [zipfian(rng, rng.randint(1, longest)) for _ in range(250)]
        ids += insert_chunks(connection, "east", texts)
    return ids


def asked(rng: random.Random) -> list[str]:
    return [VOCABULARY[min(299, int(rng.paretovariate(0.4)) - 1)] for _ in range(rng.randint(1, 8))]


@pytest.mark.parametrize(
    ("seed", "chunks", "longest", "queries"),
    [
        (1, 1500, 120, 12),
        (2, 1500, 20, 8),
        (3, 1000, 300, 8),
        *(
            pytest.param(seed, 8000, longest, 80, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])
            for seed, longest in ((4, 120), (5, 20), (6, 300), (7, 60))
        ),
    ],
)
def test_the_pruned_search_is_the_formula(
    connection: Connection[TupleRow], seed: int, chunks: int, longest: int, queries: int
) -> None:
    """With fresh statistics and with stale ones: those change idf and cost, never what is found."""
    rng = random.Random(seed)
    ids = fill(connection, rng, chunks=chunks, longest=longest)
    connection.execute("SELECT bm25_refresh('east')")
    for _ in range(queries):
        assert_search_is_the_formula(connection, "east", asked(rng))
    connection.execute("DELETE FROM chunks WHERE id = ANY(%s)", (rng.sample(ids, chunks // 3),))
    connection.execute("UPDATE chunks SET content = content || ' ' || content WHERE id % 5 = 0")
    fill(connection, rng, chunks=250, longest=2 * longest)
    for _ in range(queries):
        assert_search_is_the_formula(connection, "east", asked(rng), certified=rng.choice([5, 20, 40]))
    assert_in_step(connection)


def test_a_query_of_a_whole_page_is_answered_within_the_budget(connection: Connection[TupleRow]) -> None:
    """What is proven stays true, and a search that reads all it wants proves all."""
    rng = random.Random(21)
    fill(connection, rng, chunks=1000)
    connection.execute("SELECT bm25_refresh('east')")
    lexemes = VOCABULARY[::3]
    expected = reference(stored_counts(connection, "east"), lexemes)
    for budget in (2_000, 10_000_000):
        result = search(connection, lexemes, principal=Principal(workspace="east"), limit=40, budget=budget)
        assert result.cut == (budget == 2_000)
        assert result.ids[: result.proven] == [chunk_id for chunk_id, _ in expected[: result.proven]]
    assert result.proven >= bm25.CERTIFIED


@pytest.mark.parametrize(
    ("writers", "writes"), [(4, 12), pytest.param(8, 150, marks=[pytest.mark.soak, pytest.mark.timeout(900)])]
)
def test_concurrent_writers_and_refreshes_leave_the_formula(
    dsn: str, connection: Connection[TupleRow], writers: int, writes: int
) -> None:
    """Also the first chunks of a workspace, which several write at once."""
    failures: list[BaseException] = []
    together = threading.Barrier(writers)

    def run(number: int) -> None:
        try:
            rng = random.Random(number)
            with psycopg.connect(dsn, autocommit=True) as own:
                together.wait(20)
                mine: list[int] = []
                for turn in range(writes):
                    with own.transaction():
                        mine += insert_chunks(own, "east", [zipfian(rng, 20) for _ in range(5)])
                        if turn % 3 == 2:
                            gone = {mine.pop(rng.randrange(len(mine))) for _ in range(3)}
                            own.execute("DELETE FROM chunks WHERE id = ANY(%s)", (list(gone),))
                        own.execute("UPDATE chunks SET content = %s WHERE id = %s", (zipfian(rng, 9), rng.choice(mine)))
                    own.execute(
                        "SELECT bm25_refresh('east')" if turn % 4 == number % 4 else "SELECT bm25_compact('east')"
                    )
                    assert search(own, asked(rng), principal=Principal(workspace="east")).hits is not None
        except BaseException as error:  # noqa: BLE001 - looked at below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert connection.execute("SELECT count(*) FROM bm25_workspaces").fetchone() == (1,)
    assert_in_step(connection)
    rng = random.Random(0)
    for _ in range(5):
        assert_search_is_the_formula(connection, "east", asked(rng))


def test_writers_do_not_wait_for_one_another(dsn: str, connection: Connection[TupleRow]) -> None:
    insert_chunks(connection, "east", ["primero"])
    with psycopg.connect(dsn) as first, psycopg.connect(dsn, autocommit=True) as second:
        ids = insert_chunks(first, "east", ["luna"])
        second.execute("SET lock_timeout = '100ms'")
        insert_chunks(second, "east", ["zorro"])
        second.execute("SELECT bm25_refresh('east')")
        second.execute("SELECT bm25_compact('east')")
        first.execute("DELETE FROM chunks WHERE id = ANY(%s)", (ids,))
        first.commit()
    assert_in_step(connection)


def test_a_snapshot_that_cannot_see_the_workspace_fails_rather_than_misses(dsn: str) -> None:
    with psycopg.connect(dsn) as late, psycopg.connect(dsn, autocommit=True) as early:
        late.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        late.execute("SELECT count(*) FROM chunks")
        insert_chunks(early, "east", ["zorro"])
        with pytest.raises(psycopg.errors.SerializationFailure):
            insert_chunks(late, "east", ["luna"])


def test_chunks_that_stood_before_the_migration_are_indexed(connection: Connection[TupleRow], owner_dsn: str) -> None:
    rng = random.Random(11)
    fill(connection, rng, chunks=500)
    insert_chunks(connection, "west", ["zorro luna", ""])
    connection.close()
    command.downgrade(alembic_config(owner_dsn), "004")
    command.upgrade(alembic_config(owner_dsn), "head")
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        assert_in_step(owner)
        assert owner.execute("SELECT bm25_needs_refresh('east'), bm25_needs_refresh('west')").fetchone() == (
            False,
            False,
        )
        assert_search_is_the_formula(owner, "east", asked(rng))


def test_without_intarray_the_answer_is_the_same(
    postgres_server: Any, make_database: Callable[..., str], connection: Connection[TupleRow]
) -> None:
    name = make_database()
    with postgres_server.superuser(name) as superuser:
        superuser.execute("DROP EXTENSION intarray")
        superuser.execute(f'REVOKE CREATE ON DATABASE "{name}" FROM ragcorp_owner')
    migrate(
        postgres_server.dsn(name, role="ragcorp_owner"), embedding_model=None, application_dsn=postgres_server.dsn(name)
    )
    lists = []
    with psycopg.connect(postgres_server.dsn(name), autocommit=True) as plain:
        assert plain.execute("SELECT count(*) FROM pg_extension WHERE extname = 'intarray'").fetchone() == (0,)
        for item in (connection, plain):
            rng = random.Random(12)
            fill(item, rng, chunks=750)
            item.execute("SELECT bm25_refresh('east')")
            lists.append([search(item, asked(rng), principal=Principal(workspace="east")) for _ in range(8)])
        assert_search_is_the_formula(plain, "east", asked(random.Random(13)))
    assert [result.hits for result in lists[0]] == [result.hits for result in lists[1]]
