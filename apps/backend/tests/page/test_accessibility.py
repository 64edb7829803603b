"""Every view against WCAG 2.2 AA, light and dark, narrow and very wide, in both languages."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from support.page.browser import accessibility_faults, scrolls_sideways
from support.page.service import PageService

from .conftest import OpenPage

pytestmark = [pytest.mark.anyio, pytest.mark.page]

VIEWS = {
    "#/ask": ("Preguntar", "Ask"),
    "#/search?q=teletrabajo": ("Buscar", "Search"),
    "#/documents": ("Documentos", "Documents"),
    "#/health": ("Estado", "Health"),
}


@pytest.mark.parametrize("view", VIEWS)
async def test_a_view_is_accessible(library: PageService, open_page: OpenPage, view: str) -> None:
    page = await open_page(library, view, reduced_motion=True)
    await page.wait_for_load_state("networkidle")
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme)
        for width in (360, 3840):
            await page.set_viewport_size({"width": width, "height": 800})
            assert await accessibility_faults(page) == [], (theme, width)
            assert not await scrolls_sideways(page), (theme, width)


@pytest.mark.parametrize("view", VIEWS)
async def test_a_view_speaks_english(library: PageService, open_page: OpenPage, view: str) -> None:
    page = await open_page(library, view, locale="en-GB", width=360)
    spanish, english = VIEWS[view]
    await expect(page).to_have_title(f"{english} · ragcorp")
    await expect(page.locator("html")).to_have_attribute("lang", "en")
    assert await accessibility_faults(page) == []
    await page.get_by_role("combobox", name="Language").select_option("es")
    await expect(page).to_have_title(f"{spanish} · ragcorp")
    await expect(page.locator("html")).to_have_attribute("lang", "es")
    await page.reload()
    await expect(page).to_have_title(f"{spanish} · ragcorp")
