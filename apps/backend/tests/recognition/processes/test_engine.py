"""The engine on scans in Spanish, in the child of the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ragcorp.application.documents.recognize import LEASE_SECONDS
from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.sandbox.pool import END_SECONDS, START_SECONDS, WALL, ChildPool
from ragcorp.main.wiring.recognition import LIMITS, ChildRecognizer, make_pool
from support.parsing import works
from support.recognition.scans import PROSE, Scanner, character_errors, image_file, lines_of, pdf_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


@pytest.fixture
async def pool() -> AsyncIterator[ChildPool]:
    pool = make_pool()
    yield pool
    await pool.aclose()


async def test_scans_are_read_with_their_accents(pool: ChildPool) -> None:
    recognizer = ChildRecognizer(pool)
    text = lines_of(PROSE)
    scanners = [
        Scanner(font="times", size=11, dpi=300, noise=6, angle=0.5, blur=0.5),
        Scanner(font="helvetica", size=9, dpi=200, noise=10, angle=-0.7, blur=0.6),
        Scanner(font="courier", size=10, dpi=150, noise=8, angle=0.3, blur=0.4),
    ]
    scans = SourceFile(
        content=pdf_of(*(scanner.scan(text) for scanner in scanners)), media_type="application/pdf", filename="a.pdf"
    )
    for number in range(1, len(scanners) + 1):
        page = await recognizer.recognize(scans, number)
        assert character_errors(text, page.text) < 0.03, page.text
        assert page.confidence > 0.9
        for word in ("Muñoz Ibáñez", "compareció", "Logroño", "pingüino", "cigüeña", "47.250,00 €", "¿Quién", "AÑO"):
            assert word in page.text, (number, page.text)


async def test_a_blank_page_has_no_text(pool: ChildPool) -> None:
    blank = SourceFile(content=image_file(Scanner().scan(" ")), media_type="image/png", filename="a.png")
    page = await ChildRecognizer(pool).recognize(blank, 1)
    assert (page.text, page.confidence) == ("", 0.0)


async def test_a_damaged_picture_is_refused_and_the_child_goes_on(pool: ChildPool) -> None:
    recognizer = ChildRecognizer(pool)
    broken = SourceFile(content=b"\x89PNG\r\n\x1a\nno", media_type="image/png", filename="a.png")
    with pytest.raises(UnreadableDocumentError, match="damaged"):
        await recognizer.recognize(broken, 1)
    scan = SourceFile(content=image_file(Scanner().scan("Plazo: 30 días")), media_type="image/png", filename="a.png")
    assert (await recognizer.recognize(scan, 1)).text == "Plazo: 30 días"


async def test_a_page_at_a_limit_is_refused_without_advice_on_other_settings(pool: ChildPool) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        await pool.run(works.grab, 4000, size=0, apart=True)
    assert caught.value.reason == "too_large_in_memory"
    assert "PARSE_" not in str(caught.value.remedy)
    assert "PARSE_" not in LIMITS.time_remedy


def test_a_lease_is_longer_than_the_longest_work_on_a_page() -> None:
    assert 2 * (START_SECONDS + WALL * LIMITS.seconds + END_SECONDS) < LEASE_SECONDS


@pytest.mark.parametrize("work", [works.connect, works.run])
async def test_the_child_reaches_no_network_and_starts_no_program(pool: ChildPool, work: Any) -> None:
    async with asyncio.timeout(120):
        with pytest.raises(UnreadableDocumentError):
            await pool.run(work, size=0, apart=True)
