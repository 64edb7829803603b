"""Ask, in a browser: the answer, the passage behind each citation, and what a person sees where there is no answer."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from playwright.async_api import Locator, Page, expect

from support.faults.proxy import Fault
from support.page.browser import accessibility_faults, scrolls_sideways
from support.page.documents import LEGAL, SALES
from support.page.service import PageService

from .conftest import OpenPage, watch_of

pytestmark = [pytest.mark.anyio, pytest.mark.page]

CAUSE = "¿Cuál fue la causa de la incidencia INC-3072?"
QUOTE = "La causa de la incidencia INC-3072 fue la caducidad del certificado TLS"
SEVERAL = "¿Qué plazo tiene el preaviso y cuántos días de teletrabajo hay a la semana?"
NOTHING = "¿Quién ganó el mundial de ajedrez de 1972?"
HOSTILE_QUESTION = "¿Qué dice la cláusula hostil?"


def box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Tu pregunta")


def turn(page: Page, number: int = -1) -> Locator:
    return page.get_by_role("article").nth(number)


async def ask(page: Page, question: str) -> Locator:
    await box(page).fill(question)
    await box(page).press("Enter")
    await expect(turn(page).get_by_role("heading", name=question)).to_be_visible()
    return turn(page)


def asked(page: Page) -> list[dict[str, object]]:
    return [json.loads(item.post_data or "{}") for item in watch_of(page).requests if item.url.endswith("/ask")]


async def test_one_action_leads_from_an_answer_to_its_passage(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/ask")
    answered = await ask(page, CAUSE)
    cite = answered.get_by_role("button", name="Cita 1").first
    await cite.click()
    card = answered.get_by_role("region", name="Pasaje de la cita 1")
    await expect(card.locator("mark")).to_contain_text(QUOTE)
    await expect(card).to_contain_text("El servidor se había trasladado")  # the passage, not the quotation alone
    await expect(card).to_contain_text("tickets/inc-3072-caida-termilia.md · línea 22")
    assert await accessibility_faults(page) == []

    await page.keyboard.press("Escape")
    await expect(card).to_have_count(0)
    await expect(cite).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(card).to_be_visible()
    await answered.get_by_role("button", name=re.compile(r"^\[1\]")).click()  # its source opens it, too, and only there
    await expect(card).to_have_count(1)

    await page.set_viewport_size({"width": 360, "height": 640})
    assert not await scrolls_sideways(page)
    assert await accessibility_faults(page) == []
    await card.get_by_role("link", name="Abrir documento").click()
    await expect(page).to_have_url(re.compile(r"#/document/\S+caida-termilia.md\?from=22&to=22&quote=La\+causa"))
    await expect(page.locator("main mark:visible")).to_contain_text(QUOTE)


async def test_all_that_is_quoted_is_marked_as_it_stands(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/ask", height=500)
    several = await ask(page, SEVERAL)  # quotes two places of one passage
    await several.get_by_role("button", name="Cita 1").first.click()
    await expect(several.locator("mark")).to_have_text([re.compile("^Acme Corporation"), re.compile("^Si fuese")])
    harmless = await ask(page, HOSTILE_QUESTION)  # quotes without the controls that stand in the passage
    await harmless.get_by_role("button", name="Cita 1").first.click()
    await expect(harmless.locator("mark")).to_contain_text("[U+202E]")

    await expect(harmless.locator("mark")).to_be_in_viewport()
    await page.evaluate("location.hash = '#/documents'")
    await expect(page.get_by_role("heading", name="Documentos")).to_be_in_viewport()
    await page.go_back()
    await expect(harmless.locator("mark")).to_be_in_viewport()  # where it was left


async def test_follow_up_questions_keep_the_conversation(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/ask")
    await page.get_by_role("button", name=re.compile("^Acta")).first.click()  # a document to begin with
    await expect(box(page)).to_have_value(re.compile("^¿Qué dice «Acta"))
    await ask(page, CAUSE)
    await expect(turn(page).get_by_role("button", name=re.compile("^Cita")).first).to_be_visible()
    followed = await ask(page, "¿Y cuánto duró?")
    await expect(followed).to_contain_text("Entendido como: ¿Y cuánto duró? INC-3072")
    await expect(followed).to_have_attribute("data-phase", re.compile("done|abstained"))
    await box(page).press("ArrowUp")
    await expect(box(page)).to_have_value("¿Y cuánto duró?")

    await page.get_by_role("button", name="Nueva conversación").click()
    await expect(page.get_by_role("article")).to_have_count(0)
    nothing = await ask(page, NOTHING)
    await expect(nothing).to_contain_text("Los documentos no lo dicen")
    await expect(nothing.get_by_role("button", name=re.compile("Cita"))).to_have_count(0)
    assert await accessibility_faults(page) == []
    first, second, third = (body["conversation_id"] for body in asked(page))
    assert first == second != third
    await nothing.get_by_role("link", name="Buscar pasajes").click()
    await expect(page).to_have_url(re.compile(r"#/search\?q="))


async def test_stop_stops_the_model_and_keeps_what_came(speaking: PageService, open_page: OpenPage) -> None:
    speaking.model.pieces = ["El plazo es ", "de 30 días [1]. ", *["Y sigue. "] * 200]
    speaking.model.piece_delay = 0.05
    page = await open_page(speaking, "#/ask")
    await box(page).fill("¿Cuál es el plazo?")
    await page.keyboard.press("Tab")
    for _ in range(3):
        await page.keyboard.down("Enter")  # held down on the button that asks, and then stops
    await page.keyboard.up("Enter")
    answering = turn(page)
    await expect(answering).to_contain_text("de 30 días [1]. Y sigue.")
    await expect(answering.get_by_role("button", name="Cita 1")).to_have_count(0)  # not known yet
    await box(page).fill("Lo siguiente")
    await box(page).press("Enter")  # one at a time; it stays typed
    await page.get_by_role("button", name="Detener").click()
    await asyncio.wait_for(speaking.model.closed.wait(), 10)
    await expect(answering).to_contain_text("Detenida por ti")
    await expect(answering).to_contain_text("El plazo es de 30 días")
    await expect(box(page)).to_have_value("Lo siguiente")
    assert len(asked(page)) == 1
    assert await accessibility_faults(page) == []


async def test_an_answer_that_breaks_off_is_told_from_a_whole_one(speaking: PageService, open_page: OpenPage) -> None:
    speaking.model.pieces = ["El plazo es de 30 días ", "según el contrato [1]."]
    speaking.model.faults = ["ok", *["cut"] * 6]  # the vector of a question that nobody asked before, and its answer
    page = await open_page(speaking, "#/ask")
    answered = await ask(page, "¿Cuál es el plazo de recogida en Lugo?")
    await expect(answered.get_by_role("alert")).to_be_visible()
    await expect(answered).to_have_attribute("data-phase", "failed")
    speaking.model.faults = []  # one that is cut before its first byte was asked for again by the service
    await answered.get_by_role("button", name="Reintentar").click()
    await expect(box(page)).to_be_focused()  # the button has gone
    await expect(answered.get_by_role("button", name="Cita 1")).to_be_visible()
    await expect(answered.get_by_role("alert")).to_have_count(0)

    speaking.model.piece_delay = 0.05
    speaking.model.pieces = ["El plazo es ", *["y sigue "] * 200]
    cut = await ask(page, "¿Cuál es el plazo de pago?")
    await expect(cut).to_contain_text("y sigue y sigue")
    speaking.network.reset_all()
    await expect(cut).to_contain_text("Respuesta incompleta")
    await expect(cut).to_contain_text("El plazo es y sigue")
    watch_of(page).expect("ERR_")


async def test_no_text_becomes_markup(speaking: PageService, open_page: OpenPage) -> None:
    speaking.model.pieces = [
        "# Título [1]\n\n- **uno** [2]\n- <img src=x onerror=\"document.title='ROTO'\"> [3]\n\n",
        "| a | b |\n|---|---|\n| 1 | [4] |\n\n[enlace](javascript:document.title='ROTO') " + "w" * 10_000 + "\n\n",
        "> > > > > > > > > > > > > hondo [9999]\n",
    ]
    page = await open_page(speaking, "#/ask", width=360, height=640, theme="dark")
    answered = await ask(page, HOSTILE_QUESTION)
    await expect(answered.get_by_role("strong")).to_have_text("uno")
    await expect(answered).to_contain_text("img src=x onerror=")
    await expect(answered.locator("img, a[href^=javascript]")).to_have_count(0)
    for number in range(1, 5):
        await answered.get_by_role("button", name=f"Cita {number}").first.click()
        await expect(answered.get_by_role("region", name=f"Pasaje de la cita {number}")).to_be_visible()
        assert not await scrolls_sideways(page)
    assert await accessibility_faults(page) == []


async def test_a_question_outlives_an_outage(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library, "#/ask")
    watch_of(page).expect("status of 50[0-9]")
    library.kill_database()
    failed = await ask(page, CAUSE)
    await expect(failed.get_by_role("alert")).to_contain_text("El servicio no puede responder ahora")
    await expect(failed.get_by_role("alert")).to_contain_text("Ninguna de las fuentes")
    assert await accessibility_faults(page) == []
    library.heal()
    await failed.get_by_role("button", name="Reintentar").click()
    await expect(failed.get_by_role("button", name="Cita 1").first).to_be_visible(timeout=15_000)

    library.network.switch(Fault.DELAY, seconds=1.5)
    slow = await ask(page, NOTHING)
    await expect(slow).to_contain_text("La búsqueda tarda más de lo normal")
    library.heal()
    await expect(slow).to_contain_text("Los documentos no lo dicen")


async def test_what_a_key_saw_goes_with_it(keyed: PageService, open_page: OpenPage) -> None:
    page = await open_page(keyed, "#/ask")
    watch_of(page).expect("status of 40[13]")
    question = "¿De cuánto es el descuento de ventas para Cooperativa Alborada?"
    await ask(page, question)
    await expect(page.get_by_role("alert")).to_have_count(1)  # told once, by the page
    await turn(page).get_by_role("button", name="Introducir clave").click()
    await use_key(page, keyed.keys[SALES])
    await expect(box(page)).to_have_value(question)  # what made the page ask for a key is not lost
    await box(page).press("Enter")
    await turn(page).get_by_role("button", name="Cita 1").first.click()
    await expect(turn(page).locator("mark")).to_contain_text("del 12 %")

    await turn(page).get_by_role("link", name="Abrir documento").click()
    await expect(page.locator("main mark:visible")).to_contain_text("del 12 %")
    await page.get_by_role("button", name="Clave en uso").click()
    await use_key(page, keyed.keys[LEGAL])
    await expect(page).to_have_url(re.compile("#/documents$"))  # no address of what the other key saw
    await page.go_back()
    await expect(page).to_have_url(re.compile("#/ask$"))
    await expect(page.get_by_role("article")).to_have_count(0)
    await expect(box(page)).to_have_value("")
    await ask(page, question)
    await expect(turn(page)).to_contain_text("Los documentos no lo dicen")
    assert "12 %" not in await page.content()

    await page.get_by_role("button", name="Clave en uso").click()
    await use_key(page, keyed.keys["search"])
    await ask(page, question)
    await expect(turn(page).get_by_role("alert")).to_contain_text("Le falta el permiso «ask»")


async def use_key(page: Page, key: str) -> None:
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Clave", exact=True).fill(key)
    await dialog.get_by_role("button", name="Usar clave").click()
    await expect(dialog).to_have_count(0)
