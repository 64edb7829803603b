"""What stands around every view: sections, key, language, theme, and what keeps the page from working."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from support.faults.proxy import Fault
from support.page.browser import accessibility_faults, scrolls_sideways
from support.page.documents import LEGAL, SALES
from support.page.service import PageService

from .conftest import OpenPage, watch_of

pytestmark = [pytest.mark.anyio, pytest.mark.page]

SECTIONS = {"Preguntar": "#/ask", "Buscar": "#/search", "Documentos": "#/documents", "Estado": "#/health"}
ENGLISH = ["Ask", "Search", "Documents", "Health"]


async def give_key(page: Page, key: str, *, keep: bool = False) -> None:
    await page.get_by_role("banner").get_by_role("button", name="Clave").click()
    dialog = page.get_by_role("dialog", name="Clave de acceso")
    await dialog.get_by_label("Clave", exact=True).fill(key)
    await dialog.get_by_label("hasta que se cierre esta pestaña" if keep else "cierre o recargue").check()
    await dialog.get_by_role("button", name="Usar clave").click()


@pytest.mark.parametrize(("width", "height"), [(360, 640), (1280, 800), (3840, 2160)])
async def test_every_section_fits_any_width(library: PageService, open_page: OpenPage, width: int, height: int) -> None:
    page = await open_page(library, width=width, height=height)
    for name, address in SECTIONS.items():
        link = page.get_by_role("navigation").get_by_role("link", name=name)
        await link.click()
        await expect(link).to_have_attribute("aria-current", "page")
        await expect(page).to_have_title(f"{name} · ragcorp")
        assert page.url.endswith(address)
        assert not await scrolls_sideways(page), name


async def test_the_language_is_the_browsers_and_then_the_readers(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, locale="en-GB")
    for name in ENGLISH:
        await expect(page.get_by_role("navigation").get_by_role("link", name=name)).to_be_visible()
    await page.get_by_label("Language").select_option("es")
    await expect(page.get_by_role("navigation").get_by_role("link", name="Preguntar")).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "es")
    await page.reload()
    await expect(page.get_by_role("navigation").get_by_role("link", name="Preguntar")).to_be_visible()


async def test_the_theme_is_the_systems_and_then_the_readers(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, theme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = await page.evaluate(ground)
    await page.get_by_label("Tema").select_option("light")
    assert await page.evaluate(ground) != dark
    await page.emulate_media(color_scheme="light")
    await page.get_by_label("Tema").select_option("dark")
    assert await page.evaluate(ground) == dark


async def test_the_keyboard_comes_to_the_content_first(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/health")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Saltar al contenido")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()
    assert page.url.endswith("#/health")  # a reload leads to it still
    await page.get_by_role("navigation").get_by_role("link", name="Preguntar").click()
    await expect(page.locator("main")).to_be_focused()


async def test_a_key_is_asked_for_tried_and_not_kept(keyed: PageService, open_page: OpenPage) -> None:
    page = await open_page(keyed, "#/documents")
    watch_of(page).expect(r"status of 401")
    await expect(page.get_by_role("alert").filter(has_text="Hace falta una clave").first).to_be_visible()
    assert await accessibility_faults(page) == []

    await give_key(page, "rk_no.existe")
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("alert")).to_contain_text("Esta clave no es válida")
    assert await accessibility_faults(page) == []
    await dialog.get_by_label("Clave", exact=True).fill(keyed.keys[SALES])
    await dialog.get_by_role("button", name="Usar clave").click()
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_text("Hace falta una clave")).to_have_count(0)
    await expect(page.get_by_text("precios.md").first).to_be_visible()

    kept = "[document.cookie, JSON.stringify({...localStorage, ...sessionStorage})].join()"
    assert await page.evaluate(kept) == ",{}"
    await page.reload()
    await expect(page.get_by_role("alert").filter(has_text="Hace falta una clave").first).to_be_visible()


async def test_a_trial_that_is_given_up_gives_no_key(keyed: PageService, open_page: OpenPage) -> None:
    page = await open_page(keyed, "#/ask")
    keyed.network.switch(Fault.HANG)
    watch_of(page).expect(r"status of 401")
    dialog = page.get_by_role("dialog")
    await give_key(page, keyed.keys[SALES])
    async with page.expect_event("requestfailed"):
        await dialog.get_by_role("button", name="Cancelar").click()
    keyed.heal()
    await give_key(page, keyed.keys[LEGAL])  # no trial is in its way
    await expect(page.get_by_role("button", name="Clave en uso")).to_be_focused()


async def test_a_key_is_kept_in_the_tab_where_its_owner_says_so(keyed: PageService, open_page: OpenPage) -> None:
    page = await open_page(keyed, "#/documents")
    watch_of(page).expect(r"status of 401")
    await give_key(page, keyed.keys[SALES], keep=True)
    await expect(page.get_by_text("precios.md").first).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("precios.md").first).to_be_visible()
    await page.route("**/documents?*", lambda route: route.fulfill(status=401))  # it is revoked
    await page.get_by_label("Ver los borrados").check()
    await expect(page.get_by_role("banner").get_by_role("button", name="Clave", exact=True)).to_be_visible()
    await page.unroute("**/documents?*")
    await page.get_by_label("Ver los borrados").uncheck()
    await page.get_by_role("button", name="Clave en uso").click()
    await page.get_by_role("button", name="Olvidar clave").click()
    await expect(page.get_by_text("precios.md")).to_have_count(0)
    assert await page.evaluate("sessionStorage.length") == 0


async def test_of_one_workspace_nothing_is_left_for_the_next_key(keyed: PageService, open_page: OpenPage) -> None:
    page = await open_page(keyed, "#/documents", key=keyed.keys[SALES])
    await expect(page.get_by_text("precios.md").first).to_be_visible()
    await page.get_by_role("button", name="Clave en uso").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Clave", exact=True).fill(keyed.keys[LEGAL])
    await dialog.get_by_role("button", name="Usar clave").click()
    await expect(page.get_by_text("pleito.md").first).to_be_visible()
    assert "precios.md" not in await page.content()


async def test_what_cannot_be_reached_is_said_and_is_over_by_itself(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/health")
    watch_of(page).expect(r"net::ERR", r"Failed to fetch")
    library.network.switch(Fault.REFUSE)
    await page.get_by_role("button", name="Actualizar").click()
    notice = page.get_by_role("alert").filter(has_text="No se puede llegar al servicio")
    await expect(notice).to_have_count(1)  # told once
    await expect(page.get_by_text("Esto no ha llegado al servicio")).to_be_visible()
    assert await accessibility_faults(page) == []
    library.heal()
    await expect(notice).to_have_count(0, timeout=15_000)
