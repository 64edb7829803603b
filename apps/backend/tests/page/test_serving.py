"""The page as it is served: what it loads, what it weighs, below a prefix, and with a database that is gone."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, expect

from support.page.prefix import below_a_prefix
from support.page.service import PageService

from .conftest import OpenPage, Serve, watch_of

pytestmark = [pytest.mark.anyio, pytest.mark.page]

SECTIONS = {"Preguntar": "#/ask", "Buscar": "#/search", "Documentos": "#/documents", "Estado": "#/health"}
FIRST_LOAD = 150_000
"""Bytes of bodies, as they were sent."""


async def walk(page: Page) -> None:
    """Open every section by its link."""
    sections = page.get_by_role("navigation")
    for name, address in SECTIONS.items():
        link = sections.get_by_role("link", name=name, exact=True)
        await link.click()
        await expect(link).to_have_attribute("aria-current", "page")
        assert address in page.url  # the search comes back to what was searched
        await expect(page).to_have_title(f"{name} · ragcorp")
    await page.wait_for_load_state("networkidle")


async def test_the_first_load_is_small(
    library: PageService, open_page: OpenPage, record_property: Callable[[str, object], None]
) -> None:
    page = await open_page(library)
    await page.wait_for_load_state("networkidle")
    sent = {item.url: (await item.request.sizes())["responseBodySize"] for item in watch_of(page).responses}
    assert len(sent) >= 3
    assert 0 < sum(sent.values()) < FIRST_LOAD
    first_paint, interactive = await page.evaluate(
        "[performance.getEntriesByName('first-contentful-paint')[0]?.startTime, "
        "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd]"
    )
    record_property("bytes of the first load", sum(sent.values()))
    record_property("ms to the first paint", first_paint and round(first_paint))
    record_property("ms until it is interactive", round(interactive))


async def test_every_section_opens_and_asks_nobody_else(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library)
    await walk(page)
    for address in ("#/documents", "#/search"):
        await page.go_back()
        assert page.url.endswith(address)
    assert {urlsplit(item.url).netloc for item in watch_of(page).requests} == {urlsplit(library.url).netloc}


async def test_nothing_of_it_stays_with_the_browser(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/search?q=teletrabajo")
    await walk(page)
    assert await page.context.cookies() == []
    kept = await page.evaluate("[...Object.keys(localStorage), ...Object.keys(sessionStorage)]")
    assert set(kept) <= {"ragcorp.language", "ragcorp.theme"}
    assert await page.evaluate("indexedDB.databases().then((each) => each.length)") == 0


async def test_it_works_below_a_prefix(library: PageService, open_page: OpenPage) -> None:
    async with below_a_prefix(library.direct, "/rag") as url:
        page = await open_page(library, url=url)
        await walk(page)
        await page.reload()
        await expect(page).to_have_title("Estado · ragcorp")
        await page.wait_for_load_state("networkidle")
        assert len(watch_of(page).responses) > 5
        for response in watch_of(page).responses:
            assert urlsplit(response.url).path.startswith("/rag/")
            assert response.status == 200, response.url


async def test_it_opens_without_a_database(serve: Serve, open_page: OpenPage) -> None:
    service = await serve(documents=False)
    service.kill_database()
    page = await open_page(service)
    watch_of(page).expect(r"status of 50[0-9]")
    await walk(page)
    service.heal()


async def test_what_does_not_fit_together_in_an_upgrade_says_to_reload(
    library: PageService, open_page: OpenPage
) -> None:
    page = await open_page(library, "#/ask")
    watch_of(page).expect("ERR_FAILED", "exception: .*undefined")
    await page.route("**/status", lambda route: route.fulfill(json={"of": "another version"}))
    sections = page.get_by_role("navigation")
    await sections.get_by_role("link", name="Estado").click()
    broken = page.get_by_role("alert").filter(has_text="Esta parte de la página ha fallado")
    await expect(broken).to_be_visible()
    await sections.get_by_role("link", name="Documentos").click()
    await expect(broken).to_have_count(0)
    await expect(page.get_by_role("row").nth(5)).to_be_visible()
    await page.go_back()
    await expect(broken).to_be_visible()
    await page.unroute("**/status")
    await broken.get_by_role("button", name="Recargar").click()
    await expect(page.get_by_text("Todo funciona.")).to_be_visible()

    await page.route("**/assets/*", lambda route: route.abort())  # they are gone
    await page.reload()
    await expect(page.get_by_text("No se ha cargado la página entera: recárgala.")).to_be_visible()
