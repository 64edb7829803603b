"""On which page a quotation stands, and what is cited where nobody can tell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from ragcorp.application.answering.cited_pages import CitedPages
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.chunks import PagedText, PageSpan
from ragcorp.domain.principal import Principal
from support.memory.conversations import turn

pytestmark = pytest.mark.anyio

FOUR, FIVE, SIX = "El plazo es de 30 días. Se prorroga", "por meses. El plazo es de 30 días.", "La fianza\nes de 5 %."
TEXT = f"{FOUR} {FIVE}\n\n{SIX}"
PAGED = PagedText(text=TEXT, starts=(0, len(FOUR) + 1, len(FOUR) + len(FIVE) + 3))


@dataclass
class Pages:
    error: Exception | None = None
    seconds: float = 0.0
    asked: list[PageSpan] = field(default_factory=list)

    async def read(self, spans: Sequence[PageSpan], *, principal: Principal) -> Mapping[PageSpan, PagedText]:
        del principal
        self.asked += spans
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return {span: PAGED for span in spans if span.document_id == UUID(int=7)}


def passage(content: str = TEXT, *, first: int | None = 4, last: int | None = 6, document: int = 7) -> Chunk:
    return turn(content, page_start=first, page_end=last, document_id=UUID(int=document))


async def pages(*cited: tuple[Chunk, Sequence[str]], texts: Pages | None = None) -> tuple[int | None, ...]:
    return await CitedPages(texts=texts or Pages(), timeout_seconds=0.2).find(cited, principal=Principal())


@pytest.mark.parametrize(
    ("content", "quotes", "page"),
    [
        (TEXT, ["El plazo es de 30 días."], 4),
        (TEXT, ["Se prorroga por meses."], 4),
        (TEXT, ["por meses."], 5),
        (TEXT, ["La fianza es de 5 %."], 6),
        (TEXT, ["5 %.", "El plazo es de 30 días."], 6),
        (TEXT, ["la fianza no es"], 4),
        (TEXT, ["no dice eso", "La fianza"], 6),
        (TEXT, [""], 4),
        (TEXT[len(FOUR) + 1 :], ["El plazo es de 30 días."], 5),  # the words stand before the passage too
        ("| Plazo | Fianza |\n|---|---|\n" + TEXT, ["meses. El plazo"], 5),  # a table's header that is repeated
    ],
)
async def test_a_quotation_stands_on_the_page_on_which_it_begins(content: str, quotes: list[str], page: int) -> None:
    assert await pages((passage(content), quotes)) == (page,)


async def test_only_passages_of_several_pages_are_looked_at_and_all_at_once() -> None:
    texts = Pages()
    one, none = passage(first=4, last=4), passage(first=None, last=None)
    assert await pages((one, ["por meses."]), (none, ["x"]), texts=texts) == (4, None)
    assert texts.asked == []
    assert await pages((one, ["x"]), (passage(), ["La fianza"]), (none, []), texts=texts) == (4, 6, None)
    assert texts.asked == [PageSpan(document_id=UUID(int=7), first=4, last=6)]


@pytest.mark.parametrize(
    "texts", [Pages(error=StorageUnavailableError("down", reason="unreachable")), Pages(seconds=20.0)]
)
async def test_the_first_page_is_cited_where_the_pages_cannot_be_read(texts: Pages) -> None:
    assert await pages((passage(), ["La fianza"]), texts=texts) == (4,)


async def test_the_first_page_is_cited_of_a_document_that_is_gone() -> None:
    assert await pages((passage(document=8), ["La fianza"]), (passage(), ["La fianza"])) == (4, 6)
