"""Which files are documents of ours, what of them a caller may know, and which chunk holds the matched lines."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from benchmarks.wire import traced
from ragcorp.domain.documents import ChunkDraft, SourceFile, VisibilityScope
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.file_search import FileLines, KnownLines
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres import candidate_statements
from ragcorp.infrastructure.postgres.collection_rows import ARTIFACTS
from ragcorp.infrastructure.postgres.database import Database
from ragcorp.infrastructure.postgres.file_documents import PostgresFileDocuments, known_lines
from support.postgres import open_database, repository_over
from support.stored import ANYONE, where, written

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana")
BETO = Principal(subject="beto", clearance=Sensitivity.NORMAL)
HTML = "text/html"


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


def file_of(
    external_id: str, *contents: str, path: str | None = None, media_type: str = "text/plain", **attributes: Any
) -> DocumentWrite:
    """Return a document whose n-th content stands on line 2n - 1."""
    write = written(external_id, *contents, **attributes)
    return replace(
        write,
        attributes=replace(write.attributes, path=path or external_id),
        source=SourceFile(content=write.source.content, media_type=media_type, filename=external_id),
        content_hash=repr((external_id, path, contents, attributes)).encode(),
    )


async def store(database: Database, *writes: DocumentWrite, principal: Principal = ANYONE) -> None:
    await (await repository_over(database)).save_many(list(writes), principal=principal)


def lines(
    *names: str, span: tuple[int, int] = (1, 99), matched: Sequence[int] = (1,), texts: Sequence[str] = ("plazo",)
) -> FileLines:
    return FileLines(
        names=names, line_start=span[0], line_end=span[1], matched_lines=tuple(matched), matched_texts=tuple(texts)
    )


async def known(database: Database, *asked: FileLines, principal: Principal = ANYONE, **filters: Any) -> Any:
    return await PostgresFileDocuments(database=database).known(
        asked, principal=principal, filters=where(**filters) if filters else ()
    )


async def index_of(database: Database, asked: FileLines, **options: Any) -> int | None:
    (answer,) = await known(database, asked, **options)
    return None if answer.chunk is None else answer.chunk.chunk_index


async def test_a_file_that_is_no_document_is_readable_and_has_no_chunk(database: Database) -> None:
    await store(database, file_of("a.md", "el plazo"))
    assert await known(database, lines("docs/b.md", "b.md"), lines("docs/B.md")) == [KnownLines(), KnownLines()]
    assert await known(database) == []


async def test_a_document_is_known_by_any_name_of_its_file(database: Database) -> None:
    await store(database, file_of("a.md", "el plazo"), file_of("id-7", "otro plazo", path="docs/b.md"))
    bare, rooted, other = await known(
        database, lines("docs/a.md", "a.md"), lines("docs/b.md", "b.md"), lines("code/a.md")
    )
    assert (bare.document, rooted.document, other.document) == (True, True, False)
    assert bare.chunk is not None
    assert rooted.chunk is not None
    async with database.autocommit() as connection:
        rows = await (
            await connection.execute(
                "SELECT c.id::text, d.id::text FROM chunks c JOIN documents d ON d.id = document_id ORDER BY d.path"
            )
        ).fetchall()
    assert [(each.chunk.chunk_id, each.chunk.document_id) for each in (bare, rooted)] == rows


async def test_the_chunk_holds_the_most_of_what_matched_in_the_lines(database: Database) -> None:
    contents = ("plazo uno", "nada", "Plazo y Importe", "plazo dos", "importe y plazo")
    await store(database, file_of("a.md", *contents))  # lines 1, 3, 5, 7, 9
    both = ("PLAZO", "importe")
    assert await index_of(database, lines("a.md", matched=(1, 5, 7, 9), texts=both)) == 2, "both texts; the first so"
    assert await index_of(database, lines("a.md", span=(6, 20), matched=(7, 9), texts=both)) == 4
    assert await index_of(database, lines("a.md", span=(1, 4), matched=(1,), texts=both)) == 0
    assert await index_of(database, lines("a.md", matched=(7,), texts=both)) == 3, "a matched line stands in it"
    assert await index_of(database, lines("a.md", matched=(3,), texts=both)) is None, "none of the texts does"
    assert await index_of(database, lines("a.md", span=(50, 60), matched=(55,), texts=both)) is None


async def test_of_chunks_with_equal_texts_the_one_with_more_matched_lines(database: Database) -> None:
    write = file_of("a.md", "plazo", "plazo y plazo")
    longer = replace(write.chunks[1], line_start=3, line_end=5)
    await store(database, replace(write, chunks=(write.chunks[0], longer)))
    assert await index_of(database, lines("a.md", matched=(1, 3, 5))) == 1
    assert await index_of(database, lines("a.md", matched=(1, 3))) == 0


async def test_accents_are_compared_composed_and_signs_are_text(database: Database) -> None:
    await store(database, file_of("a.md", "la gestión del 100 %_ de \\"))
    for text in ("GESTIO\u0301N", "100 %_", "\\", "gestión\x00"):
        assert await index_of(database, lines("a.md", texts=(text,))) == 0
    assert await index_of(database, lines("a.md", texts=("100 __",))) is None
    assert await index_of(database, lines("a.md", texts=())) is None


async def test_where_the_lines_are_not_the_files_the_chunk_holds_all_the_texts(database: Database) -> None:
    await store(
        database,
        file_of("a.html", "plazo", "plazo e importe", media_type=HTML),
        file_of("b.html", "plazo", "importe", media_type=HTML),
        file_of("c.py", "plazo", "importe", media_type="text/x-python"),
    )
    both = ("plazo", "importe")
    html, parted, code = await known(
        database,
        lines("a.html", span=(70, 80), matched=(75,), texts=both),
        lines("b.html", matched=(1,), texts=both),
        lines("c.py", matched=(1,), texts=both),
    )
    assert html.chunk is not None
    assert html.chunk.chunk_index == 1
    assert (parted.document, parted.chunk) == (True, None)
    assert code.chunk is not None
    assert code.chunk.chunk_index == 0


@pytest.mark.parametrize(
    "attributes",
    [
        {"visibility_scope": VisibilityScope.PRIVATE, "owner": "ana"},
        {"visibility_scope": VisibilityScope.GROUP, "owner": "legal"},
        {"sensitivity": Sensitivity.CONFIDENTIAL},
    ],
)
async def test_a_document_that_the_caller_may_not_read_withholds_its_file(
    database: Database, attributes: dict[str, Any]
) -> None:
    writer = Principal(subject="ana", groups=frozenset({"legal"}))
    await store(database, file_of("a.md", "el plazo", **attributes), principal=writer)
    assert await known(database, lines("docs/a.md", "a.md"), principal=BETO) == [KnownLines(readable=False)]
    assert await known(database, lines("docs/a.md", "a.md"), principal=BETO, language="en") == [
        KnownLines(readable=False)
    ]
    (mine,) = await known(database, lines("docs/a.md", "a.md"), principal=writer)
    assert (mine.readable, mine.document, mine.chunk is not None) == (True, True, True)


async def test_one_of_several_that_may_not_be_read_withholds_the_file(database: Database) -> None:
    private = {"visibility_scope": VisibilityScope.PRIVATE, "owner": "ana"}
    await store(
        database,
        file_of("1", "el plazo", path="a.md"),
        file_of("2", "el plazo", path="docs/a.md", **private),
        principal=ANA,
    )
    (other,) = await known(database, lines("docs/a.md", "a.md"), principal=BETO)
    assert other == KnownLines(readable=False)
    (bare,) = await known(database, lines("a.md"), principal=BETO)
    assert bare.chunk is not None


async def test_a_document_of_a_path_below_any_root_withholds_but_is_not_the_file(database: Database) -> None:
    await store(
        database,
        file_of("sub/a.md", "el plazo", visibility_scope=VisibilityScope.PRIVATE, owner="ana"),
        file_of("b.md", "el plazo"),
        principal=ANA,
    )
    assert await known(database, lines("code/sub/a.md"), lines("code/b.md"), principal=BETO) == [
        KnownLines(readable=False),
        KnownLines(),
    ]
    assert await known(database, lines("code/sub/a.md"), principal=ANA) == [KnownLines()]


async def test_a_name_is_known_in_both_forms_of_unicode(database: Database) -> None:
    composed, decomposed = "gestión.md", "gestio\u0301n.md"
    await store(database, file_of("1", "plazo", path=composed), file_of("2", "plazo", path=f"docs/{decomposed}"))
    answers = await known(database, lines(decomposed), lines(f"docs/{composed}"), lines("docs/\x00"))
    assert [answer.document for answer in answers] == [True, True, False]


async def test_of_several_the_first_by_its_id_gives_the_chunk(database: Database) -> None:
    await store(
        database,
        file_of("z", "plazo z", path="a.md"),
        file_of("B", "nada", "plazo b", path="a.md"),
        file_of("b", "plazo c", path="docs/a.md"),
    )
    asked = lines("docs/a.md", "a.md", matched=(1, 3))
    assert await index_of(database, asked) == 1, "B is before b and z, code point by code point"


async def test_filters_are_those_of_a_search_of_chunks(database: Database) -> None:
    await store(database, file_of("a.md", "plazo", language="es", metadata={"area": "legal"}))
    for filters, passes in (
        ({"language": "es"}, True),
        ({"language": "en"}, False),
        ({"area": "legal"}, True),
        ({"area": "ventas"}, False),
        ({"external_id": "a.md"}, True),
        ({"collection": "artifact_chunks"}, True),
        ({"collection": "memory"}, False),
        ({"session": "s1"}, False),
    ):
        (answer,) = await known(database, lines("a.md"), **filters)
        assert (answer.passes, answer.readable, answer.chunk is not None) == (passes, True, passes), filters
    (foreign,) = await known(database, lines("b.md"), language="en")
    assert foreign == KnownLines(), "of what is not stored storage says nothing"


async def test_deleted_documents_and_other_workspaces_do_not_count(database: Database) -> None:
    repository = await repository_over(database)
    private = {"visibility_scope": VisibilityScope.PRIVATE, "owner": "ana"}
    await store(database, file_of("a.md", "plazo", **private), principal=ANA)
    await store(database, file_of("b.md", "plazo", **private), principal=replace(ANA, workspace="other"))
    await repository.soft_delete_one("a.md", principal=ANA)
    assert await known(database, lines("a.md"), lines("b.md"), principal=BETO) == [KnownLines(), KnownLines()]


async def test_two_hundred_passages_are_one_statement_each_with_its_chunk(database: Database, dsn: str) -> None:
    write = file_of("a.md", *(f"plazo número {number:03}" for number in range(200)))
    secret = file_of("s.md", "plazo", visibility_scope=VisibilityScope.PRIVATE, owner="ana")
    await store(database, write, secret, principal=ANA)
    asked = [
        lines("docs/a.md", "a.md", span=(2 * n + 1, 2 * n + 1), matched=(2 * n + 1,), texts=(f"{n:03}", "plazo"))
        for n in range(199)
    ]
    with traced() as trace:
        async with open_database(dsn) as watched:
            answers = await PostgresFileDocuments(database=watched).known([*asked, lines("s.md")], principal=BETO)
            seen = trace.take()
    assert [each.chunk and each.chunk.chunk_index for each in answers] == [*range(199), None]
    assert [each.readable for each in answers] == [True] * 199 + [False]
    assert len([statement for statement in seen.statements if "FROM documents" in statement]) == 1


async def test_documents_are_found_by_the_index_of_their_paths(database: Database, dsn: str) -> None:
    await store(database, *(file_of(f"{number}.md", "plazo") for number in range(50)))
    visible = ARTIFACTS.visible(ANYONE)
    statement = known_lines(visible=visible.sql, passing="true")
    given = {"number": 0, "names": ["7.md"], "spellings": ["7.md"], "line_start": 1, "line_end": 9}
    given |= {"lines": [1], "texts": ["plazo"]}
    with psycopg.connect(dsn) as connection:
        connection.execute(candidate_statements.SETTINGS.encode())
        rows = connection.execute(
            f"EXPLAIN {statement}".encode(), visible.values | {"given": Jsonb([given])}
        ).fetchall()
    plan = "\n".join(row[0] for row in rows)
    assert "Index Scan using ix_documents_workspace_path on documents" in plan
    assert "md5(path) >= md5(" in plan.split("Index Cond: ")[1].splitlines()[0]
    assert "Seq Scan" not in plan


async def test_an_outage_is_said(database: Database) -> None:
    await database.close()
    with pytest.raises(StorageUnavailableError):
        await known(database, lines("a.md"))


WORDS = ("plazo", "Importe", "ñandú", "x_1")
PASSAGES = st.tuples(
    st.integers(1, 12),
    st.integers(0, 8),
    st.lists(st.integers(1, 14), max_size=4),
    st.lists(st.sampled_from(("PLAZO", "importe", "Ñandu\u0301", "x_1", "nada")), max_size=3),
)


def expected(contents: Sequence[str], start: int, end: int, matched: Sequence[int], texts: Sequence[str]) -> int | None:
    """Return the chunk's index, worked out in Python: content n stands on line 2n + 1."""
    wanted = {unicodedata.normalize("NFC", text).lower() for text in texts}
    best: tuple[int, int, int] | None = None
    for index, content in enumerate(contents):
        line = 2 * index + 1
        held, lines_held = sum(text in content.lower() for text in wanted), matched.count(line)
        if start <= line <= end and held and lines_held:
            best = max(best or (0, 0, 0), (held, lines_held, -index))
    return None if best is None else -best[2]


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(
    contents=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), min_size=1, max_size=6),
    passages=st.lists(PASSAGES, min_size=1, max_size=8),
)
def test_the_chunk_is_the_one_that_the_rule_says(
    dsn: str, owner_dsn: str, contents: list[str], passages: list[tuple[int, int, list[int], list[str]]]
) -> None:
    asked = [
        lines("docs/a.md", "a.md", span=(start, start + length), matched=matched, texts=texts)
        for start, length, matched, texts in passages
    ]

    async def run() -> list[KnownLines]:
        with psycopg.connect(owner_dsn, autocommit=True) as connection:
            connection.execute("DELETE FROM documents")
        async with open_database(dsn) as database:
            await store(database, file_of("a.md", *contents))
            answers: list[KnownLines] = await known(database, *asked)
            return answers

    assert [each.chunk and each.chunk.chunk_index for each in asyncio.run(run())] == [
        expected(contents, start, start + length, matched, texts) for start, length, matched, texts in passages
    ]


def test_the_drafts_are_lines_apart() -> None:
    """What the numbers of the tests above stand on."""
    drafts: Sequence[ChunkDraft] = file_of("a", "x", "y").chunks
    assert [(draft.line_start, draft.line_end) for draft in drafts] == [(1, 1), (3, 3)]
