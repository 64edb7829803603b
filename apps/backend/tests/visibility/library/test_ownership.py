"""What is written can be read back by its writer, and a restore undoes no newer write."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import ConflictError, InvalidInputError, NotFoundError
from ragcorp.domain.principal import Principal, Sensitivity

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana", groups=frozenset({"ventas"}), clearance=Sensitivity.NORMAL)


async def test_a_private_document_belongs_to_its_writer(open_rag: Callable[..., Any]) -> None:
    rag = await open_rag()
    ana, beto = rag.as_principal(ANA), rag.as_principal(Principal(subject="beto"))
    await ana.ingest_text(
        "nota.md", "Mi nota.", attributes=DocumentAttributes(visibility_scope=VisibilityScope.PRIVATE)
    )
    assert (await ana.document("nota.md")).attributes.owner == "ana"
    with pytest.raises(NotFoundError):
        await beto.document("nota.md")
    with pytest.raises(ConflictError):
        await beto.ingest_text("nota.md", "Mi nota.")


@pytest.mark.parametrize(
    ("attributes", "field"),
    [
        (DocumentAttributes(visibility_scope=VisibilityScope.PRIVATE, owner="beto"), "owner"),
        (DocumentAttributes(visibility_scope=VisibilityScope.GROUP), "owner"),
        (DocumentAttributes(visibility_scope=VisibilityScope.GROUP, owner="compras"), "owner"),
        (DocumentAttributes(sensitivity=Sensitivity.RESTRICTED), "sensitivity"),
        (
            DocumentAttributes(occurred_at=datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))),
            "occurred_at",
        ),
        (DocumentAttributes(occurred_at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))), "occurred_at"),
    ],
)
async def test_what_its_writer_could_not_read_back_is_refused(
    open_rag: Callable[..., Any], attributes: DocumentAttributes, field: str
) -> None:
    ana = (await open_rag()).as_principal(ANA)
    with pytest.raises(InvalidInputError) as caught:
        await ana.ingest_text("nota.md", "Texto.", attributes=attributes)
    assert caught.value.field == field
    assert (await ana.documents())[0] == ()


async def test_a_time_without_a_zone_is_taken_to_be_in_utc(open_rag: Callable[..., Any]) -> None:
    rag = await open_rag()
    naive = datetime(2026, 3, 1, 12)  # noqa: DTZ001
    await rag.ingest_text("a.md", "Texto.", attributes=DocumentAttributes(occurred_at=naive))
    assert (await rag.document("a.md")).attributes.occurred_at == datetime(2026, 3, 1, 12, tzinfo=UTC)


async def test_a_restore_that_comes_late_leaves_the_newer_text(open_rag: Callable[..., Any]) -> None:
    rag = await open_rag()
    await rag.ingest_text("a.md", "Texto antiguo.")
    await rag.delete("a.md")
    restore = rag._use_cases.restore
    read = restore.store.get_deleted

    async def slow(*args: Any, **kwargs: Any) -> Any:
        result = await read(*args, **kwargs)
        await rag.ingest_text("a.md", "Texto nuevo.")
        return result

    restore.store.get_deleted = slow
    with pytest.raises(NotFoundError):
        await rag.restore("a.md")
    assert (await rag.source("a.md")).content == b"Texto nuevo."
