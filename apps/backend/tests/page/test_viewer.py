"""A document that is read, in a browser: at its place, word by word, and as the file that it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.async_api import expect

from support.page.browser import accessibility_faults, scrolls_sideways
from support.page.documents import LONG_NAME, SALES
from support.page.service import PageService

from .conftest import OpenPage, watch_of

pytestmark = [pytest.mark.anyio, pytest.mark.page]


def address(name: str, place: str = "") -> str:
    return f"#/document/{quote(name, safe='')}{place}"


async def test_a_long_document_opens_at_its_page_and_is_looked_through(
    library: PageService, open_page: OpenPage, record_property: Callable[[str, object], None]
) -> None:
    started = time.monotonic()
    page = await open_page(library, address(LONG_NAME, "?page=150"), width=360, height=500)
    await expect(page.locator(".part:focus")).to_be_in_viewport()
    record_property("page 150 of 200, seconds", round(time.monotonic() - started, 2))
    await expect(page.locator(".part:focus")).to_contain_text("clave-150")
    await expect(page.get_by_role("heading", name="Páginas 147–151")).to_be_visible()  # a passage goes over several
    assert not await scrolls_sideways(page)
    assert await accessibility_faults(page) == []

    find = page.get_by_role("searchbox", name="Buscar en el documento")
    await find.fill("MÉRMAS")  # neither capitals nor accents matter
    await expect(page.get_by_text("1 de 200", exact=True)).to_be_visible()
    for number in range(2, 5):  # the fourth is in the first passage, a screen below its beginning
        await find.press("Enter")
        await expect(page.get_by_text(f"{number} de 200", exact=True)).to_be_visible()
    await expect(page.locator("mark.current")).to_be_in_viewport(ratio=1)
    await expect(page.locator("mark.current").locator("..")).to_contain_text("clave-004")
    for _ in range(4):
        await find.press("Shift+Enter")
    await expect(page.get_by_text("200 de 200", exact=True)).to_be_visible()
    await expect(page.locator("mark.current")).to_be_in_viewport(ratio=1)
    assert await accessibility_faults(page) == []
    await find.fill("no está")
    await expect(page.get_by_text("Sin coincidencias")).to_be_visible()

    await page.get_by_role("textbox", name="Página", exact=True).fill("77")
    await page.get_by_role("textbox", name="Página", exact=True).press("Enter")
    await expect(page.locator(".part:focus")).to_contain_text("clave-077")
    await expect(page.locator(".part:focus")).to_be_in_viewport()
    await page.get_by_role("textbox", name="Página", exact=True).fill("p. 999")
    await page.get_by_role("textbox", name="Página", exact=True).press("Enter")
    await expect(page.locator(".part:focus")).to_contain_text("clave-200")


async def test_a_place_that_is_not_there_is_told(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, address(LONG_NAME, "?page=999"))
    watch_of(page).expect(r"status of 404")
    await expect(page.get_by_text("Se abre por el principio")).to_be_visible()
    await page.evaluate("(to) => { location.hash = to }", address(LONG_NAME, "?page=10&quote=otra%20cosa"))
    await expect(page.get_by_text("Se abre en el lugar más cercano")).to_be_visible()
    await expect(page.locator(".part:focus")).to_contain_text("clave-010")
    await page.evaluate("(to) => { location.hash = to }", address("nada.md"))
    await expect(page.get_by_text("Este documento no está")).to_be_visible()
    await page.get_by_role("link", name="Volver a documentos").click()
    await expect(page.get_by_role("heading", name="Documentos", level=1)).to_be_visible()


async def test_the_original_is_a_link_or_with_a_key_a_download(
    library: PageService, keyed: PageService, open_page: OpenPage
) -> None:
    page = await open_page(library, address(LONG_NAME, "?page=150"), width=768)
    await expect(page.locator(".part:focus")).to_be_in_viewport()
    await page.get_by_role("searchbox").click(trial=True)  # nothing covers what looks through the document
    link = page.get_by_role("link", name="Ver el original")
    await expect(link).to_have_attribute("href", f"./documents/{quote(LONG_NAME, safe='')}/content#page=150")
    original = await page.request.get(f"{library.url}{await link.get_attribute('href')}")
    assert (original.headers["content-type"], (await original.body())[:5]) == ("application/pdf", b"%PDF-")

    page = await open_page(keyed, address("precios.md"), key=keyed.keys[SALES])
    async with page.expect_download() as downloading:
        await page.get_by_role("button", name="Descargar el original").click()
    download = await downloading.value
    assert download.suggested_filename == "precios.md"
    assert "Cooperativa Alborada" in (await download.path()).read_text(encoding="utf-8")
