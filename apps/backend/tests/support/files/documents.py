"""Documents whose lines are known, and questions of which document and chunk the lines of a file are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.ports.file_search import FileLines
from ragcorp.domain.ports.storage import DocumentWrite
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.files.documents import PostgresFileDocuments
from support.storage.postgres import repository_over
from support.storage.stored import ANYONE, where, written

HTML = "text/html"


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
    *names: str,
    span: tuple[int, int] = (1, 99),
    matched: Sequence[int] = (1,),
    texts: Sequence[str] = ("plazo",),
    whole: Sequence[str] = (),
) -> FileLines:
    return FileLines(
        names=names,
        line_start=span[0],
        line_end=span[1],
        matched_lines=tuple(matched),
        matched_texts=tuple(texts),
        line_texts=tuple(whole),
    )


def place(number: int) -> dict[str, Any]:
    """Return the lines of the chunk of that number alone."""
    return {"span": (2 * number + 1, 2 * number + 1), "matched": (2 * number + 1,)}


async def known(database: Database, *asked: FileLines, principal: Principal = ANYONE, **filters: Any) -> Any:
    return await PostgresFileDocuments(database=database).look_up(
        asked, principal=principal, filters=where(**filters) if filters else ()
    )
