"""The channels of artifacts, memory and history: order, filters, time, words, and what they see."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from ragcorp.domain.collections import Collection
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import ScoreType
from ragcorp.infrastructure.postgres.collections import statements as collection_statements
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.dense import statements as dense_statements
from support.memory.collections import NOON, WITH_CHANNELS, backlog_of, channels_over, fill, save, store_over
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, EAST, embed_all, towards, where, written

pytestmark = pytest.mark.anyio

ITEMS = (Collection.MEMORY, Collection.HISTORY)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


async def found(
    database: Database,
    collection: Collection,
    query: str,
    *,
    principal: Principal = ANYONE,
    limit: int = 9,
    **options: object,
) -> list[str]:
    """Return the names of what holds words of the query, best first."""
    channels = await channels_over(database, collection)
    options = {"filters": ()} | options
    ranked, cut = await channels.matching(query, principal=principal, limit=limit, **options)  # type: ignore[arg-type]
    assert not cut
    return await names(database, ranked, principal)


async def names(database: Database, ranked: object, principal: Principal = ANYONE) -> list[str]:
    hits = ranked.hits  # type: ignore[attr-defined]
    read = await (await store_over(database)).read([hit.key for hit in hits], principal=principal)
    return [read[hit.key].external_id for hit in hits]


@pytest.mark.parametrize("collection", WITH_CHANNELS)
async def test_the_nearest_come_first_and_ties_by_key(database: Database, collection: Collection) -> None:
    texts = ["uno", "dos", "tres", "cuatro"]
    vectors = dict(zip(texts, (towards(0.6), towards(0.9), towards(0.6), towards(-0.5)), strict=True))
    await fill(database, collection, {"default": texts}, vectors)
    channels = await channels_over(database, collection)
    similar = await channels.similar(EAST, principal=ANYONE, filters=(), limit=9)
    assert similar.seen == 1.0
    assert similar.ranked_list.score_type == ScoreType.COSINE_SIMILARITY
    assert [hit.score for hit in similar.ranked_list] == pytest.approx([0.9, 0.6, 0.6, -0.5], abs=1e-6)
    found = await names(database, similar.ranked_list)
    assert (found[0], found[3]) == ("001", "003")
    tied = [hit.item_id for hit in similar.ranked_list][1:3]
    assert tied == sorted(tied, key=lambda key: key if collection is Collection.ARTIFACTS else int(str(key)))
    if collection is not Collection.ARTIFACTS:
        assert found == ["001", "000", "002", "003"]


async def test_a_whole_document_is_as_near_as_the_mean_of_its_chunks(database: Database) -> None:
    repository = await repository_over(database)
    await repository.save_many([written("a", "uno", "dos"), written("b", "tres")], principal=ANYONE)
    vectors = {"uno": towards(1.0), "dos": towards(0.0), "tres": towards(0.8)}
    await embed_all(backlog_of(database, Collection.ARTIFACTS), vectors)
    channels = await channels_over(database, Collection.ARTIFACTS)
    similar = await channels.similar(EAST, principal=ANYONE, filters=(), limit=9)
    assert await names(database, similar.ranked_list) == ["b", "a"]
    assert [hit.score for hit in similar.ranked_list] == pytest.approx([0.8, 0.5**0.5], abs=1e-6)


@pytest.mark.parametrize("collection", WITH_CHANNELS)
async def test_what_waits_for_a_vector_lowers_the_share_that_is_seen(
    database: Database, collection: Collection
) -> None:
    await fill(database, collection, {"default": ["uno", "dos", "tres"], "other": ["ajeno"]})
    await save(database, collection, "cuatro", name="late")
    channels = await channels_over(database, collection)
    similar = await channels.similar(EAST, principal=ANYONE, filters=(), limit=9)
    assert similar.seen == 0.75
    assert len(similar.ranked_list) == 3
    others = await channels.similar(EAST, principal=Principal(workspace="other"), filters=(), limit=9)
    assert others.seen == 1.0


@pytest.mark.parametrize("collection", WITH_CHANNELS)
async def test_what_the_caller_may_not_read_does_not_tell_whether_it_waits(
    database: Database, collection: Collection
) -> None:
    ana = replace(ANYONE, subject="ana")
    await fill(database, collection, {"default": ["uno"]})
    await save(database, collection, "dos", name="hers", principal=ana, visibility_scope="private", owner="ana")
    await save(database, collection, "tres", name="secret", principal=ana, sensitivity=Sensitivity.RESTRICTED)
    channels = await channels_over(database, collection)
    clerk = Principal(clearance=Sensitivity.NORMAL)
    seen = [
        (await channels.similar(EAST, principal=principal, filters=(), limit=9)).seen
        for principal in (clerk, ANYONE, ana)
    ]
    assert seen == [1.0, pytest.approx(1 / 2), pytest.approx(1 / 3)]


async def test_a_document_that_waits_is_never_sampled_away(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_statements, "DOCUMENT_SAMPLE", 1)
    dense_statements.similar.cache_clear()
    try:
        await fill(database, Collection.ARTIFACTS, {"default": ["uno", "dos", "tres"]})
        await save(database, Collection.ARTIFACTS, "cuatro", name="late")
        channels = await channels_over(database, Collection.ARTIFACTS)
        assert (await channels.similar(EAST, principal=ANYONE, filters=(), limit=9)).seen < 1
    finally:
        dense_statements.similar.cache_clear()


@pytest.mark.parametrize("collection", ITEMS)
async def test_filters_narrow_both_channels(database: Database, collection: Collection) -> None:
    await save(database, collection, "aguja", name="a", session="s1", speaker="ana", metadata={"n": 1})
    await save(database, collection, "aguja", name="b", session="s1", speaker="beto", language="en")
    await save(database, collection, "aguja", name="c", session="s2", speaker="ana", occurred_at=NOON - timedelta(9))
    await embed_all(backlog_of(database, collection))
    channels = await channels_over(database, collection)
    for filters, expected in (
        ({"session": "s1"}, ["a", "b"]),
        ({"speaker": ["ana"]}, ["a", "c"]),
        ({"session": "s1", "speaker": "ana"}, ["a"]),
        ({"language": "en"}, ["b"]),
        ({"n": 1}, ["a"]),
        ({"external_id": ["c", "b"]}, ["b", "c"]),
        ({"occurred_at": {"lt": "2026-02-25T00:00:00Z"}}, ["c"]),
        ({"collection": str(collection)}, ["a", "b", "c"]),
        ({"collection": "artifacts"}, []),
    ):
        narrowed = where(**filters)
        similar = await channels.similar(EAST, principal=ANYONE, filters=narrowed, limit=9)
        assert sorted(await names(database, similar.ranked_list)) == expected, filters
        assert sorted(await found(database, collection, "aguja", filters=narrowed)) == expected, filters


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("collection", WITH_CHANNELS)
async def test_what_is_older_than_the_bound_is_not_there(
    database: Database, collection: Collection, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether few are young enough to be read by age, or the words are looked up first."""
    monkeypatch.setattr(collection_statements, "LATEST", 100 if few else 0)
    collection_statements.matching.cache_clear()
    try:
        for hours in (0, 5, 30):
            await save(database, collection, "aguja", name=f"{hours:02}", occurred_at=NOON - timedelta(hours=hours))
        await save(database, collection, "pajar", name="other")
        for hours, expected in ((4, ["00"]), (5, ["00", "05"]), (48, ["00", "05", "30"])):
            since = NOON - timedelta(hours=hours)
            assert sorted(await found(database, collection, "aguja", since=since)) == expected
        assert (
            await found(database, collection, "aguja", since=NOON - timedelta(hours=4), filters=where(language="en"))
            == []
        )
    finally:
        collection_statements.matching.cache_clear()


@pytest.mark.parametrize("collection", ITEMS)
async def test_words_that_no_chunk_holds_are_found(database: Database, collection: Collection) -> None:
    """The words of a workspace that corrections come from are those of its chunks; a memory's are its own."""
    await save(database, Collection.ARTIFACT_CHUNKS, "La planta embotelladora", name="doc")
    await save(database, collection, "Rajesh planta tomates", name="tomatoes", speaker="Rajesh")
    await save(database, collection, "Las pinturas de Priya", name="paint")
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        await connection.execute("SELECT refresh_lexicon('default')")
    assert await found(database, collection, "¿quién pinta con Rajesh?") == ["tomatoes"]
    assert await found(database, collection, "pintura") == ["paint"]
    assert await found(database, collection, "PRIYA") == ["paint"]


@pytest.mark.parametrize("collection", ITEMS)
async def test_a_misspelt_word_is_found_only_by_words_that_the_caller_may_read(
    database: Database, collection: Collection
) -> None:
    clerk = Principal(clearance=Sensitivity.NORMAL)
    await save(database, collection, "La clausura del embotellamiento", name="mine")
    await save(
        database, Collection.ARTIFACT_CHUNKS, "Embotellamiento", name="secret", sensitivity=Sensitivity.RESTRICTED
    )
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        await connection.execute("SELECT refresh_lexicon('default')")
    assert await found(database, collection, "embotelamiento") == ["mine"]
    assert await found(database, collection, "embotelamiento", principal=clerk) == []
    await save(database, Collection.ARTIFACT_CHUNKS, "Otro embotellamiento", name="open")
    assert await found(database, collection, "embotelamiento", principal=clerk) == ["mine"]


@pytest.mark.parametrize("collection", ITEMS)
async def test_an_english_item_is_found_by_english_forms(database: Database, collection: Collection) -> None:
    await save(database, collection, "Planning a vacation to Goa in March", name="goa", language="en", speaker="Priya")
    await save(database, collection, "Las vacaciones de marzo", name="marzo")
    assert await found(database, collection, "vacations planned") == ["goa"]
    assert await found(database, collection, "vacación de marzo") == ["marzo"]
    assert await found(database, collection, "priya") == ["goa"]


@pytest.mark.parametrize("collection", ITEMS)
async def test_a_stop_word_of_the_first_language_is_none_in_another(database: Database, collection: Collection) -> None:
    await save(database, collection, "La La Land won six awards", name="film", language="en")
    assert await found(database, collection, "de la casa") == []
    assert await found(database, collection, "la land") == ["film"]


@pytest.mark.parametrize("collection", WITH_CHANNELS)
async def test_codes_are_found_in_any_writing(database: Database, collection: Collection) -> None:
    await save(database, collection, "Vence el REQ-2024-001 en marzo", name="code")
    await save(database, collection, "Vence el contrato en 2024", name="year")
    for query in ("REQ-2024-001", "req 2024 001", "REQ2024001"):
        assert (await found(database, collection, query))[0] == "code"


@pytest.mark.parametrize("collection", WITH_CHANNELS)
async def test_hashes_that_collide_are_no_result(database: Database, owner_dsn: str, collection: Collection) -> None:
    await save(database, collection, "vocablo", name="first")
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        seed = "hashtext('default')"
        if collection is Collection.ARTIFACTS:
            seed = "(SELECT id FROM bm25_workspaces WHERE workspace = 'default')"
        table = {"artifacts": "document_terms", "memory": "memory_items", "history": "history_turns"}[collection]
        # as if another word had the key of this one: the posting stands, the lexeme is not in the text
        connection.execute(
            f"UPDATE {table} SET terms = ARRAY["
            f" bm25_key({seed}, (SELECT lexeme FROM query_words('es', 'vocablo'))) | 1,"
            f" bm25_key({seed}, (SELECT lexeme FROM query_words('es', 'extranjero'))) | 1]"
        )
    assert await found(database, collection, "vocablo") == ["first"]
    assert await found(database, collection, "extranjero") == []


@pytest.mark.parametrize("collection", WITH_CHANNELS)
async def test_a_budget_cuts_and_is_said(database: Database, collection: Collection) -> None:
    await fill(database, collection, {"default": ["aguja uno", "aguja dos", "aguja tres"]})
    for budget, cut in ((2, True), (3, False)):
        channels = await channels_over(database, collection, budget=budget)
        ranked, was_cut = await channels.matching("aguja", principal=ANYONE, filters=(), limit=9)
        assert was_cut is cut
        assert len(ranked) == 3
        other, was_cut = await channels.matching("tres", principal=ANYONE, filters=(), limit=9)
        assert not was_cut
        assert len(other) == 1


@pytest.mark.parametrize("collection", WITH_CHANNELS)
async def test_a_word_of_more_rows_than_are_counted_still_scores(
    database: Database, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_statements, "TOTALS", 1)
    monkeypatch.setattr(collection_statements, "DOCUMENT_TOTALS", 1)
    collection_statements.matching.cache_clear()
    try:
        await fill(database, collection, {"default": ["aguja", "aguja", "aguja"]})
        channels = await channels_over(database, collection)
        ranked, _ = await channels.matching("aguja", principal=ANYONE, filters=(), limit=9)
        # N = df = 3, tf = 1, dl = avgdl
        assert [hit.score for hit in ranked] == pytest.approx([math.log(1 + 0.5 / 3.5)] * 3, abs=2e-9)
    finally:
        collection_statements.matching.cache_clear()


async def test_a_deleted_document_is_not_there(database: Database) -> None:
    await fill(database, Collection.ARTIFACTS, {"default": ["aguja", "aguja fina"]})
    await (await repository_over(database)).soft_delete_one("000", principal=ANYONE)
    channels = await channels_over(database, Collection.ARTIFACTS)
    similar = await channels.similar(EAST, principal=ANYONE, filters=(), limit=9)
    assert await names(database, similar.ranked_list) == ["001"]
    assert await found(database, Collection.ARTIFACTS, "aguja") == ["001"]


async def test_without_a_model_nothing_is_seen(database: Database) -> None:
    await fill(database, Collection.MEMORY, {"default": ["aguja"]})
    channels = await channels_over(database, Collection.MEMORY)
    channels._scan = replace(channels._scan, model=None)
    similar = await channels.similar(EAST, principal=ANYONE, filters=(), limit=9)
    assert (len(similar.ranked_list), similar.seen) == (0, 0.0)


async def test_among_many_the_index_answers_and_a_filter_still_finds_its_nearest(
    database: Database, owner_dsn: str
) -> None:
    """3,000 turns are more than are compared one by one; 15 of a session are found among them."""
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            """
            WITH made AS (
                INSERT INTO history_turns (workspace, external_id, text, session, occurred_at, content_hash)
                SELECT 'default', 't' || n, 'aguja ' || n, 's' || n %% 200, %(noon)s, ''
                FROM generate_series(1, 3000) AS n RETURNING id)
            INSERT INTO history_embeddings (item_id, model_id, workspace, embedding)
            SELECT made.id, 1, 'default',
                   (SELECT array_agg(random() - 0.5)::real[]::vector(8) FROM generate_series(1, 8) WHERE made.id > 0)
            FROM made
            """,
            {"noon": datetime(2026, 1, 1, tzinfo=UTC)},
        )
        connection.execute("ANALYZE")
        exact = """
            SELECT h.id::text FROM history_turns h JOIN history_embeddings e ON e.item_id = h.id
            WHERE %s::text IS NULL OR session = %s
            ORDER BY (e.embedding::vector(8) <=> %s::vector(8)) + 0, h.id LIMIT 100
        """
        east = str(list(EAST))
        every = [row[0] for row in connection.execute(exact, (None, None, east)).fetchall()]
        rare = [row[0] for row in connection.execute(exact, ("s7", "s7", east)).fetchall()]
    channels = await channels_over(database, Collection.HISTORY)
    similar = await channels.similar(EAST, principal=ANYONE, filters=(), limit=100)
    scores = [hit.score for hit in similar.ranked_list]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.item_id for hit in similar.ranked_list} & set(every)) >= 95
    assert len(scores) == 100
    narrow = await channels.similar(EAST, principal=ANYONE, filters=where(session="s7"), limit=100)
    assert [hit.item_id for hit in narrow.ranked_list] == rare
    assert len(rare) == 15
    wide = await channels.similar(EAST, principal=ANYONE, filters=where(language="es"), limit=100)
    assert len({hit.item_id for hit in wide.ranked_list} & set(every)) >= 95
