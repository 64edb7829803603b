"""The health of the service, in plain words."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from support.faults.proxy import Fault
from support.page.browser import accessibility_faults, scrolls_sideways
from support.page.service import PageService

from .conftest import OpenPage, Serve, watch_of

pytestmark = [pytest.mark.anyio, pytest.mark.page]


async def test_what_works_what_there_is_and_how_it_is_set(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/health", width=360)
    await expect(page.get_by_role("status").filter(has_text="Todo funciona.")).to_be_visible()
    sources = page.get_by_role("region", name="Fuentes")
    for name in ("significado", "texto"):
        await expect(sources.get_by_role("listitem").filter(has_text=name).first).to_contain_text("funciona")
    async with library.client() as client:
        counts = (await client.get("/status")).json()["counts"]
    assert counts["documents"] > 0
    shown = page.get_by_role("region", name="Lo que puedes leer")
    await expect(shown.get_by_text(str(counts["documents"]), exact=True).first).to_be_visible()
    flags = page.get_by_role("region", name="Opciones en vigor")
    await expect(flags.get_by_role("row").filter(has_text="ENABLE_HYBRID_SEARCH")).to_contain_text("true")
    await expect(flags.get_by_role("button")).to_have_count(0)
    await expect(page.get_by_role("main").locator("[lang=en]")).to_have_count(0)
    await page.evaluate("document.body.style.letterSpacing = '0.12em'")
    assert not await scrolls_sideways(page)
    assert await accessibility_faults(page) == []


async def test_a_dead_database_is_told_in_plain_words_and_so_is_its_return(open_page: OpenPage, serve: Serve) -> None:
    service = await serve()
    page = await open_page(service, "#/health")
    await expect(page.get_by_text("Todo funciona.")).to_be_visible()
    service.kill_database()
    await page.wait_for_timeout(1_100)  # what was seen is told for a second
    await page.get_by_role("button", name="Actualizar").click()
    await expect(page.get_by_text("No puede responder ahora.")).to_be_visible()
    await expect(page.get_by_text("Ahora no se puede contar: la base de datos no responde.")).to_be_visible()
    sources = page.get_by_role("region", name="Fuentes")
    await expect(sources.get_by_text("«ragcorp doctor» dice más.")).to_have_count(1)
    await expect(sources.get_by_text("Necesita la base de datos.").first).to_be_visible()
    await expect(sources.locator("[lang=en]")).to_have_count(0)
    assert await accessibility_faults(page) == []
    service.heal()
    await expect(page.get_by_text("Todo funciona.")).to_be_visible(timeout=30_000)
    watch_of(page).expect("ERR_")
    service.network.switch(Fault.REFUSE)
    await page.get_by_role("button", name="Actualizar").click()
    await expect(page.get_by_text("Lo que sigue es lo último que se vio.")).to_be_visible()
    await expect(page.get_by_text("Todo funciona.")).to_have_count(0)
    service.heal()
    await page.get_by_role("button", name="Reintentar").first.click()
    await expect(page.get_by_text("Todo funciona.")).to_be_visible()
