"""Documents that want to be more than text: in every view they are text, and break no layout."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

from support.page.browser import accessibility_faults, scrolls_sideways
from support.page.documents import BIDI, HOSTILE, IMAGE, LONG_NAME, LONG_WORD, SCRIPT
from support.page.service import PageService

from .conftest import OpenPage

pytestmark = [pytest.mark.anyio, pytest.mark.page]

NARROW = 360
OF_A_DOCUMENT = "img, iframe, object, embed, script:not([src]), [onerror], [onload], a[href^='javascript:']"


def address(name: str) -> str:
    return f"#/document/{quote(name, safe='')}"


async def check_harmless(page: Page) -> None:
    assert await page.locator(OF_A_DOCUMENT).count() == 0
    assert "ROTO" not in await page.title()
    shown = await page.locator("body").inner_text()
    assert not set(shown) & set("\u202e\u2066\u2067\u200f"), "controls of writing direction are shown as they are"
    assert not await scrolls_sideways(page)


@pytest.mark.parametrize("width", [NARROW, 1280])
async def test_what_is_found_is_text(library: PageService, open_page: OpenPage, width: int) -> None:
    page = await open_page(library, "#/search?q=cláusula hostil", width=width)
    await expect(page.locator("main")).to_contain_text("<svg onload=")
    await check_harmless(page)
    assert await accessibility_faults(page) == []


@pytest.mark.parametrize("width", [NARROW, 1280])
async def test_what_is_listed_is_text(library: PageService, open_page: OpenPage, width: int) -> None:
    page = await open_page(library, "#/documents", width=width)
    await expect(page.locator("main")).to_contain_text("<img src=x onerror=")
    await check_harmless(page)
    assert await accessibility_faults(page) == []


async def test_an_answer_is_text(speaking: PageService, open_page: OpenPage) -> None:
    speaking.model.pieces = ["Según la cláusula, <img src=x onerror=\"document.title='ROTO'\"> ", f"{BIDI} ", LONG_WORD]
    speaking.model.pieces += [" ![x](https://example.org/x.png) <script>document.title='ROTO'</script> [1]."]
    page = await open_page(speaking, "#/ask", width=NARROW)
    box = page.get_by_role("main").get_by_role("textbox").first
    await box.fill("¿Qué dice la cláusula hostil?")
    await box.press("Enter")
    await expect(page.get_by_role("button", name="Cita 1")).to_be_visible()
    await check_harmless(page)


async def test_an_answer_is_text_whatever_the_service_lets_through(library: PageService, open_page: OpenPage) -> None:
    """The service makes angles and controls of an answer harmless; the page does not rest on that."""
    said = "".join(
        f"event: message\ndata: {json.dumps({'delta': item})}\n\n" for item in (IMAGE, SCRIPT, BIDI, LONG_WORD)
    )
    page = await open_page(library, "#/ask", width=NARROW)
    await page.route("**/ask", lambda route: route.fulfill(content_type="text/event-stream", body=said))
    box = page.get_by_role("main").get_by_role("textbox").first
    await box.fill("¿Qué dice la cláusula hostil?")
    await box.press("Enter")
    await expect(page.locator("main")).to_contain_text("<img src=x onerror=")
    await expect(page.locator("main")).to_contain_text("<script>")
    await check_harmless(page)


async def test_a_document_is_text(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/documents", width=NARROW)
    for name, (title, text) in HOSTILE.items():
        await page.evaluate("(to) => { location.hash = to }", address(name))
        await expect(page.locator("main")).to_contain_text(text.split(".")[0])
        await expect(page.locator("main")).to_contain_text(title.split("\u202e")[0][:100])
        await check_harmless(page)


async def test_a_document_of_200_pages_opens_at_its_page(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, f"{address(LONG_NAME)}?page=150")
    article = page.get_by_text("clave-150")
    await expect(article.first).to_be_in_viewport()
    assert not await scrolls_sideways(page)
