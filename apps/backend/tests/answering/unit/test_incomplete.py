"""Which documents behind an answer are named as not read whole."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from ragcorp.application.answering.incomplete import IncompleteDocuments
from ragcorp.domain.answers import IncompleteDocument
from ragcorp.domain.documents import Chunk, UnreadKind, UnreadPart
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.principal import Principal
from support.memory.conversations import turn

pytestmark = pytest.mark.anyio

PAGE = UnreadPart(kind=UnreadKind.PAGE, count=1, places=("2",))
FORMATTING = UnreadPart(kind=UnreadKind.FORMATTING)


@dataclass
class Parts:
    error: Exception | None = None
    seconds: float = 0.0
    reads: list[Sequence[UUID]] = field(default_factory=list)

    async def read(
        self, document_ids: Sequence[UUID], *, principal: Principal
    ) -> Mapping[UUID, tuple[UnreadPart, ...]]:
        del principal
        self.reads.append(document_ids)
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return {UUID(int=1): (PAGE, FORMATTING), UUID(int=2): (FORMATTING,)}


def passage(document: int, collection: str = "artifact_chunks") -> Chunk:
    return turn(
        "texto", collection=collection, document_id=UUID(int=document), external_id=f"{document}.pdf", title="Acta"
    )


async def incomplete(
    *chunks: Chunk, parts: Parts | None = None, limit: int | None = None
) -> tuple[IncompleteDocument, ...]:
    finding = IncompleteDocuments(unread=parts or Parts(), timeout_seconds=0.2)
    return await finding.find(chunks, principal=Principal(), limit=limit)


async def test_a_document_is_named_once_with_the_parts_that_may_say_more() -> None:
    parts = Parts()
    named = await incomplete(passage(1), passage(2), passage(3), passage(1), parts=parts)
    assert [(document.external_id, document.unread) for document in named] == [("1.pdf", (PAGE,))]
    assert parts.reads == [[UUID(int=1), UUID(int=2), UUID(int=3)]]


async def test_only_the_first_documents_are_read() -> None:
    parts = Parts()
    assert await incomplete(passage(3), passage(3), passage(2), passage(1), parts=parts, limit=2) == ()
    assert parts.reads == [[UUID(int=3), UUID(int=2)]]


async def test_without_a_document_nothing_is_read() -> None:
    parts = Parts()
    assert await incomplete(passage(1, "history"), passage(1, "files"), parts=parts) == ()
    assert parts.reads == []


@pytest.mark.parametrize("parts", [Parts(error=StorageUnavailableError("out", reason="unreachable")), Parts(seconds=5)])
async def test_an_outage_costs_the_notice_and_not_the_answer(parts: Parts) -> None:
    assert await incomplete(passage(1), parts=parts) == ()
