"""Which files are documents of ours, what of them a caller may know, and which chunk holds the matched lines."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from benchmarks.wire import traced
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.file_search import FileLines, StoredLines
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.collections import candidate_statements
from ragcorp.infrastructure.postgres.connections.database import EVERY_WORKSPACE, Database
from ragcorp.infrastructure.postgres.files.documents import PostgresFileDocuments, known_lines
from ragcorp.infrastructure.postgres.tables.collections import ARTIFACTS
from support.files.documents import HTML, file_of, known, lines, place, store
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana")
BETO = Principal(subject="beto", clearance=Sensitivity.NORMAL)


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    async with open_database(dsn) as database:
        yield database


async def index_of(database: Database, asked: FileLines, **options: Any) -> int | None:
    (answer,) = await known(database, asked, **options)
    return None if answer.chunk is None else answer.chunk.chunk_index


async def test_a_file_that_is_no_document_is_readable_and_has_no_chunk(database: Database) -> None:
    await store(database, file_of("a.md", "el plazo"))
    assert await known(database, lines("docs/b.md", "b.md"), lines("docs/B.md")) == [StoredLines(), StoredLines()]
    assert await known(database) == []


async def test_a_document_is_known_by_any_name_of_its_file(database: Database) -> None:
    await store(database, file_of("a.md", "el plazo"), file_of("id-7", "otro plazo", path="docs/b.md"))
    bare, rooted, other = await known(
        database, lines("docs/a.md", "a.md", whole=("el plazo",)), lines("docs/b.md", "b.md"), lines("code/a.md")
    )
    assert (bare.document, rooted.document, other.document) == (True, True, False)
    assert bare.chunk is not None
    assert rooted.chunk is not None
    async with database.autocommit(EVERY_WORKSPACE) as connection:
        rows = await (
            await connection.execute(
                "SELECT c.id::text, d.id::text FROM chunks c JOIN documents d ON d.id = document_id ORDER BY d.path"
            )
        ).fetchall()
    assert [(item.chunk.chunk_id, item.chunk.document_id) for item in (bare, rooted)] == rows


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


async def test_where_the_lines_are_not_the_files_the_chunk_holds_the_most_of_what_matched(database: Database) -> None:
    await store(
        database,
        file_of("a.html", "plazo", "plazo e importe", media_type=HTML),
        file_of("b.html", "nada", "importe", "el plazo", media_type=HTML),
        file_of("c.py", "plazo", "importe", media_type="text/x-python"),
    )
    both = ("plazo", "importe")
    assert await index_of(database, lines("a.html", span=(70, 80), matched=(75,), texts=both)) == 1
    assert await index_of(database, lines("b.html", span=(70, 80), matched=(75,), texts=both)) == 1, "in two: the first"
    held = lines("b.html", span=(70, 80), matched=(75,), texts=both, whole=("<p class='x'>el <b>plazo</b></p>",))
    assert await index_of(database, held) == 2, "it holds a line"
    assert await index_of(database, lines("b.html", texts=("tabla",))) is None
    assert await index_of(database, lines("c.py", matched=(1,), texts=both)) == 0


async def test_a_document_of_a_bare_name_is_the_files_only_by_a_whole_line(database: Database) -> None:
    await store(
        database,
        file_of("acta.md", "K-1 vence el martes en Vigo", "K-12"),
        file_of("acta.csv", "| K-1 | martes |", "| K-12 | lunes |", media_type="text/csv"),
    )
    for name, line, held in (
        ("acta.md", "K-1 vence el lunes en Madrid", None),
        ("acta.md", "K-1", None),
        ("acta.md", "K-1 vence el martes en Vigo", 0),
        ("acta.csv", "K-1,lunes", None),
        ("acta.csv", "K-1;martes", 0),
        ("acta.csv", "...", None),
    ):
        asked = lines(f"r1/{name}", name, texts=("k-1",), whole=(line,))
        assert await index_of(database, asked) == held, (name, line)
        assert await index_of(database, replace(asked, names=(name,))) == 0, "the name is the file's own"


async def test_a_file_that_changed_since_is_known_by_its_lines(database: Database) -> None:
    contents = ("uno", "dos", "la línea del plazo", "tres", "otra del plazo", "la línea del plazo")
    await store(database, file_of("a.md", *contents))  # lines 1, 3, 5, 7, 9, 11
    for names in (("a.md",), ("docs/a.md", "a.md")):
        moved = lines(*names, span=(40, 60), matched=(50,), whole=("la línea del plazo",))
        assert await index_of(database, moved) == 2, "no chunk of the lines is there"
        over = lines(*names, span=(1, 4), matched=(3,), texts=("plazo", "dos"), whole=("otra del plazo",))
        assert await index_of(database, over) == 4, "chunk 1 is on the line and holds a text, but not the line"
        there = lines(*names, span=(9, 13), matched=(11,), whole=("la línea del plazo",))
        assert await index_of(database, there) == 5, "of equal lines the one in its place"


async def test_the_most_whole_lines_come_before_texts_and_places(database: Database) -> None:
    await store(database, file_of("a.md", "plazo e importe, IVA", "el plazo\nel importe", "el plazo"))
    asked = lines("a.md", matched=(1,), texts=("plazo", "importe", "iva"), whole=("el plazo", "el importe"))
    assert await index_of(database, asked) == 1
    assert await index_of(database, replace(asked, line_texts=("el plazo",))) == 1, "the most texts"
    assert await index_of(database, replace(asked, line_texts=("el plazo",), matched_lines=(5,))) == 2, "its line"
    assert await index_of(database, replace(asked, line_texts=())) == 0


async def test_a_part_of_a_line_is_no_line_unless_it_is_long(database: Database) -> None:
    long = "una frase de sesenta caracteres, que nadie escribe dos veces, plazo"
    await store(database, file_of("a.md", f"Antes: {long}. Y después.", "  el plazo\tfirme  "))
    assert await index_of(database, lines("docs/a.md", "a.md", whole=(long,))) == 0
    assert await index_of(database, lines("docs/a.md", "a.md", whole=("plazo",))) is None
    for line in ("el plazo\tfirme", "\u00adel pla\u200bzo\tfirme\x0c"):
        assert await index_of(database, lines("docs/a.md", "a.md", whole=(line,))) == 1


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
    assert await known(database, lines("docs/a.md", "a.md"), principal=BETO) == [StoredLines(readable=False)]
    assert await known(database, lines("docs/a.md", "a.md"), principal=BETO, language="en") == [
        StoredLines(readable=False)
    ]
    (mine,) = await known(database, lines("docs/a.md", "a.md", whole=("el plazo",)), principal=writer)
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
    assert other == StoredLines(readable=False)
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
        StoredLines(readable=False),
        StoredLines(),
    ]
    assert await known(database, lines("code/sub/a.md"), principal=ANA) == [StoredLines()]


async def test_a_name_is_known_in_both_forms_of_unicode(database: Database) -> None:
    composed, decomposed = "gestión.md", "gestio\u0301n.md"
    await store(database, file_of("1", "plazo", path=composed), file_of("2", "plazo", path=f"docs/{decomposed}"))
    answers = await known(database, lines(decomposed), lines(f"docs/{composed}"), lines("docs/\x00"))
    assert [answer.document for answer in answers] == [True, True, False]


async def test_of_several_the_first_by_its_id_gives_the_chunk_those_of_the_files_own_name_first(
    database: Database,
) -> None:
    await store(
        database,
        file_of("z", "plazo z", path="a.md"),
        file_of("B", "nada", "plazo b", path="a.md"),
        file_of("b", "nada", "nada", "plazo c", path="docs/a.md"),
    )
    asked = lines("docs/a.md", "a.md", matched=(1, 3, 5))
    assert await index_of(database, lines("a.md", matched=(1, 3))) == 1, "B is before z, code point by code point"
    assert await index_of(database, asked) == 2
    assert await index_of(database, replace(asked, line_texts=("plazo b",))) == 2, "a.md is another file's"


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
    assert foreign == StoredLines(), "of what is not stored storage says nothing"


async def test_deleted_documents_withhold_only_and_other_workspaces_do_not_count(database: Database) -> None:
    repository = await repository_over(database)
    private = {"visibility_scope": VisibilityScope.PRIVATE, "owner": "ana"}
    await store(database, file_of("a.md", "plazo", **private), principal=ANA)
    await store(database, file_of("b.md", "plazo", **private), principal=replace(ANA, workspace="other"))
    await repository.soft_delete_one("a.md", principal=ANA)
    asked = (lines("a.md"), lines("b.md"))
    assert await known(database, *asked, principal=BETO) == [StoredLines(readable=False), StoredLines()]
    assert await known(database, *asked, principal=ANA, language="en") == [StoredLines(), StoredLines()]


async def test_two_hundred_passages_are_one_statement_each_with_its_chunk(database: Database, dsn: str) -> None:
    write = file_of("a.md", *(f"plazo número {number:03}" for number in range(200)))
    secret = file_of("s.md", "plazo", visibility_scope=VisibilityScope.PRIVATE, owner="ana")
    await store(database, write, secret, principal=ANA)
    asked = [
        lines("docs/a.md", "a.md", texts=(f"{n:03}", "plazo"), whole=(f"plazo número {n:03}",), **place(n + n % 2))
        for n in range(199)
    ]
    with traced() as trace:
        async with open_database(dsn) as watched:
            answers = await PostgresFileDocuments(database=watched).look_up([*asked, lines("s.md")], principal=BETO)
            seen = trace.take()
    assert [item.chunk and item.chunk.chunk_index for item in answers] == [*range(199), None]
    assert [item.readable for item in answers] == [True] * 199 + [False]
    assert len([statement for statement in seen.statements if "FROM documents" in statement]) == 1


async def test_documents_are_found_by_the_indexes_of_their_names(database: Database, dsn: str, owner_dsn: str) -> None:
    await store(database, *(file_of(f"{number}.md", "plazo") for number in range(50)))
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("ANALYZE documents, folder_files")
    visible = ARTIFACTS.visible(ANYONE)
    statement = known_lines(visible=visible.sql, passing="true")
    given: dict[str, object] = {"number": 0, "line_start": 1, "line_end": 9, "lines": [1], "texts": ["plazo"]}
    given |= {"names": ["7.md"], "own": 1, "sure": 1, "place": "/srv/docs/7.md", "folders": [0]}
    given |= {"whole_lines": ["plazo"]}
    folder = {"number": 0, "key": "00ff", "skipped": 10}
    with psycopg.connect(dsn) as connection:
        connection.execute(candidate_statements.SETTINGS.encode())
        rows = connection.execute(
            f"EXPLAIN {statement}".encode(), visible.values | {"given": Jsonb([given]), "folders": Jsonb([folder])}
        ).fetchall()
    plan = "\n".join(row[0] for row in rows)
    scans = re.findall(r"Index (?:Only )?Scan using (\w+) on .*\n +Index Cond: (.*)", plan)
    conditions = dict(scans)
    for name, column in (("path_key", "path"), ("external_id_key", "external_id")):
        assert re.search(rf"path_key\(\(?{column}\b.* >= ", conditions[f"ix_documents_workspace_{name}"])
    assert "(folder >= decode(" in conditions["pk_folder_files"]
    assert "(ROW((relative)::text, folder) >= ROW(" in conditions["ix_folder_files_relative"]
    assert "external_id" in conditions["uq_documents_workspace_external_id"]
    assert "Seq Scan" not in plan


async def test_an_outage_is_said(database: Database) -> None:
    await database.close()
    with pytest.raises(StorageUnavailableError):
        await known(database, lines("a.md"))
