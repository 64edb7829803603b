"""The search: as it is typed, narrowed, walked by keyboard, and told when something is out."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from support.faults.proxy import Fault
from support.page.browser import accessibility_faults, scrolls_sideways
from support.page.documents import LEGAL, SALES
from support.page.service import PageService

from .conftest import OpenPage, Serve, watch_of

pytestmark = [pytest.mark.anyio, pytest.mark.page]


async def first_title(page: Page) -> str:
    return await page.get_by_role("article").first.get_by_role("heading").first.inner_text()


async def test_the_keyboard_alone_finds_a_passage_and_says_why(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/search")
    await expect(page.get_by_text("Escribe lo que buscas")).to_be_visible()
    box = page.get_by_role("searchbox", name="Qué buscas")
    await page.keyboard.press("/")
    await expect(box).to_be_focused()
    await page.keyboard.type("plazo de entrega")
    passages = page.get_by_role("article")
    await expect(passages).to_have_count(10)
    await expect(page).to_have_url(re.compile(r"#/search\?q=plazo\+de\+entrega$"))  # passages come while one types
    marked = await passages.first.locator("mark").all_inner_texts()
    assert {item.lower() for item in marked} & {"plazo", "plazos", "entrega", "entregas"}
    assert await accessibility_faults(page) == []

    await page.keyboard.press("ArrowDown")
    await expect(passages.nth(0)).to_be_focused()
    for key, place in (("j", 1), ("ArrowDown", 2), ("k", 1), ("End", 9), ("Home", 0)):
        await page.keyboard.press(key)
        await expect(passages.nth(place)).to_be_focused()
    await page.keyboard.press("Enter")
    why = passages.first.get_by_role("button", name="¿Por qué aquí?")
    await expect(why).to_have_attribute("aria-expanded", "true")
    await expect(passages.first.get_by_role("table")).to_be_visible()
    assert await accessibility_faults(page) == []
    await page.keyboard.press("Enter")
    await expect(why).to_have_attribute("aria-expanded", "false")
    await page.keyboard.press("Escape")
    await expect(box).to_be_focused()

    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("j")
    await page.keyboard.press("o")
    await expect(page).to_have_url(re.compile("#/document/.*from="))
    await page.go_back()
    await expect(passages.nth(1)).to_be_focused()


async def test_back_leads_through_the_searches_that_were_sent(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/search")
    box = page.get_by_role("searchbox", name="Qué buscas")
    for query in ("vacaciones", "compresores Haldenfrost"):
        await box.fill(query)
        await expect(page).to_have_url(re.compile(f"q={query.replace(' ', '.')}$"))  # typing has rested
        await box.press("Enter")
    await page.go_back()
    await expect(box).to_have_value("vacaciones")
    await expect(page.get_by_role("article").first).to_contain_text("vacaciones")
    await page.go_forward()
    await expect(box).to_have_value("compresores Haldenfrost")
    await box.fill("x" * 2001)
    await expect(page.get_by_role("alert")).to_contain_text("Una búsqueda admite 2000 caracteres: sobran 1.")
    await box.fill("\u200b")
    await expect(page.get_by_text("Escribe lo que buscas")).to_be_visible()
    await box.fill("\0vacaciones")  # without what is no character
    await expect(page.get_by_role("article").first).to_contain_text("vacaciones")
    await box.fill("")
    await expect(page.get_by_role("article")).to_have_count(0)
    await expect(page.get_by_role("group", name="Idioma").get_by_role("checkbox")).to_have_count(0)


async def test_more_results_come_below_and_the_focus_stays(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/search?q=contrato")
    passages = page.get_by_role("article")
    more = page.get_by_role("button", name="Más resultados")
    await expect(passages).to_have_count(10)
    assert [request.url for request in watch_of(page).requests].count(f"{library.url}search") == 1
    first = await first_title(page)
    await more.click()
    await expect(passages).to_have_count(20)
    await expect(more).to_be_focused()
    assert await first_title(page) == first
    ranks = [text.split()[0] for text in await page.locator(".result-rank [aria-hidden]").all_inner_texts()]
    assert ranks == [str(rank) for rank in range(1, 21)]


async def test_modes_and_filters_narrow_what_is_found(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/search?q=plazo", width=360)
    passages = page.get_by_role("article")
    await expect(passages).to_have_count(10)
    await page.get_by_role("radio", name="Texto").check()
    await expect(passages.first.get_by_role("list", name="Encontrado por")).not_to_contain_text("significado")
    await page.get_by_role("radio", name="Documentos y memoria").check()
    await expect(passages.filter(has_text="significado")).not_to_have_count(0)
    await passages.nth(1).get_by_role("button", name="¿Por qué aquí?").click()
    await expect(passages.nth(1).get_by_role("listitem").filter(has_text="Sin repetidos")).to_be_visible()
    variety = passages.nth(1).get_by_role("listitem").filter(has_text="Variedad (MMR)")
    await expect(variety).to_contain_text("Relevancia")
    await page.get_by_role("radio", name="Memoria", exact=True).check()
    await expect(page.get_by_text("Ningún pasaje responde a esta búsqueda")).to_be_visible()
    await page.get_by_role("radio", name="Texto").check()
    await expect(passages).to_have_count(10)
    await page.get_by_text("Filtros", exact=True).click()
    language = page.get_by_role("group", name="Idioma").get_by_role("checkbox", name="español")
    await language.check()
    chip = page.get_by_role("button", name="Quitar el filtro español")
    await expect(chip).to_be_visible()
    await expect(passages).to_have_count(10)
    assert not await scrolls_sideways(page)
    assert await accessibility_faults(page) == []
    await page.get_by_label("Desde", exact=True).fill("2026-01-01")
    await expect(page.get_by_text("Ningún pasaje responde a esta búsqueda")).to_be_visible()
    await expect(language).to_be_checked()
    await page.get_by_label("Hasta", exact=True).fill("2025-01-01")
    await expect(page.get_by_text("La fecha final es anterior a la inicial.")).to_be_visible()
    await page.get_by_role("list", name="Filtros").get_by_role("button", name="Quitar filtros").click()
    await expect(passages).to_have_count(10)
    await expect(page.get_by_role("searchbox", name="Qué buscas")).to_be_focused()
    await page.get_by_role("button", name="Comparar").click()
    await expect(page.get_by_role("region", name="Dos clasificaciones")).to_be_visible()
    await expect(passages).to_have_count(0)


async def test_hostile_documents_are_text_and_break_no_layout(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/search?q=cláusula+hostil", width=360, theme="dark")
    passages = page.get_by_role("article")
    await expect(passages.first).to_be_visible()
    await expect(page.get_by_text("<img src=x onerror").first).to_be_visible()
    for button in await page.get_by_role("button", name="Mostrar todo").all():
        await button.click()
        break
    assert not await scrolls_sideways(page)
    assert await page.locator("article img, article svg[onload], article script").count() == 0
    assert await accessibility_faults(page) == []


async def test_slow_and_lost_answers_are_told_and_an_older_one_never_wins(
    library: PageService, open_page: OpenPage
) -> None:
    page = await open_page(library, "#/search")
    watch_of(page).expect("ERR_", "Failed to load")
    box = page.get_by_role("searchbox", name="Qué buscas")
    library.network.switch(Fault.DELAY, seconds=1.5)
    await box.fill("vacaciones")
    await expect(page.get_by_text("Tarda más de lo normal")).to_be_visible()
    await box.fill("compresores Haldenfrost")
    await expect(box).to_have_value("compresores Haldenfrost")
    await expect(page.get_by_role("article").first).to_contain_text("Haldenfrost")
    library.network.switch(Fault.REFUSE)
    await box.fill("teletrabajo")
    await expect(page.get_by_text("No se puede llegar al servicio")).to_have_count(1)
    library.heal()
    await expect(page.get_by_role("article").first).to_contain_text("teletrabajo", timeout=15_000)


async def test_a_dead_source_and_a_dead_database_are_told_in_plain_words(open_page: OpenPage, serve: Serve) -> None:
    service = await serve()
    page = await open_page(service, "#/search?q=plazo")
    await expect(page.get_by_role("article")).to_have_count(10)
    service.model.always = "401"
    await page.get_by_role("searchbox", name="Qué buscas").fill("garantía de los compresores")
    await expect(page.get_by_text("Respuesta parcial")).to_be_visible()
    await expect(page.get_by_role("listitem").filter(has_text="Significado: ")).to_be_visible()
    service.network.switch(Fault.DELAY, seconds=1.5)
    await page.get_by_role("searchbox", name="Qué buscas").fill("garantía de compresores")
    await expect(page.get_by_text("Tarda más de lo normal")).to_be_visible()
    assert await page.get_by_text("Respuesta parcial").is_visible()  # of what is still shown
    assert "primeros pasajes" in await page.locator(".search-told").inner_text()
    assert await accessibility_faults(page) == []
    service.network.switch(Fault.PASS)
    await expect(page.get_by_text("Tarda más de lo normal")).to_have_count(0)
    await page.get_by_role("button", name="Comparar").click()
    await expect(page.get_by_text("Izquierda: la lista «Significado» no se puede hacer ahora")).to_be_visible()
    await page.get_by_role("combobox", name="Izquierda").select_option("sparse")
    await expect(page.get_by_text("10 de 10 pasajes")).to_be_visible()
    assert await accessibility_faults(page) == []
    watch_of(page).expect("ERR_", "status of 503")
    service.network.switch(Fault.REFUSE)
    await page.get_by_role("searchbox", name="Qué buscas").fill("plazo de entrega")
    await expect(page.get_by_text("Esto no ha llegado al servicio")).to_have_count(2)
    service.network.switch(Fault.PASS)
    await expect(page.get_by_text("10 de 10 pasajes")).to_be_visible()
    await page.get_by_role("button", name="Comparar").click()
    service.kill_database()
    await page.get_by_role("searchbox", name="Qué buscas").fill("permisos")
    await expect(page.get_by_text("El servicio no puede responder ahora")).to_be_visible(timeout=20_000)
    service.heal()
    await page.get_by_role("button", name="Reintentar").click()
    await expect(page.get_by_role("status").filter(has_text="primeros pasajes")).to_be_visible(timeout=20_000)


async def test_a_change_of_key_leaves_nothing_of_the_one_before(keyed: PageService, open_page: OpenPage) -> None:
    page = await open_page(keyed, "#/search?q=descuento", key=keyed.keys[SALES])
    await expect(page.get_by_role("article").first).to_contain_text("Cooperativa Alborada")
    await page.get_by_role("button", name="Clave en uso").click()
    await page.get_by_role("dialog").get_by_label("Clave", exact=True).fill(keyed.keys[LEGAL])
    await page.get_by_role("button", name="Usar clave").click()
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await expect(page.get_by_role("searchbox", name="Qué buscas")).to_have_value("")
    assert "Alborada" not in await page.content()
    assert "descuento" not in page.url
