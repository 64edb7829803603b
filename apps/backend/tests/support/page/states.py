"""The states of the page that docs/page shows: where each is, and the way to it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from playwright.async_api import FilePayload, Page, expect

from support.faults.proxy import Fault
from support.page.documents import LONG_NAME
from support.page.service import PageService

CAUSE = "¿Cuál fue la causa de la incidencia INC-3072?"
DELIVERY = "¿Cuál es el plazo de entrega de los compresores?"
PIECES = [
    "El **plazo de entrega** pactado en el contrato de suministro ",
    "es de 30 días desde la confirmación del pedido [1].\n\n",
    "- Si hay retraso, se avisa por escrito [2].\n",
    "- La penalización se descuenta de la factura siguiente",
    *[" con el detalle", " de los días", " de retraso,", " del pedido", " y del albarán"],
    ".\n\nEl proveedor puede alegar fuerza mayor",
    *[" y justificarlo por escrito"] * 100,
]
NOTE: FilePayload = {
    "name": "acta-de-obra.md",
    "mimeType": "text/markdown",
    "buffer": b"# Acta de obra\n\nEl plazo es de tres meses.\n",
}
BROKEN: FilePayload = {"name": "presupuesto.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 no es un PDF"}
DRAWING: FilePayload = {"name": "plano-de-planta.dwg", "mimeType": "", "buffer": b"AC1032"}
LARGE: FilePayload = {
    "name": "memoria-del-proyecto.txt",
    "mimeType": "text/plain",
    "buffer": b"Cada partida se mide al final del mes.\n" * 40_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    library: PageService
    """Answers by extraction; its results are reranked."""
    speaking: PageService
    keyed: PageService
    empty: PageService


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a page is opened: which service, where, and in what window."""

    of: Callable[[Services], PageService] = lambda services: services.library
    at: str
    width: int = 1280
    height: int = 800
    dark: bool = False
    touch: bool = False
    locale: str = "es-ES"
    key: str | None = None
    scale: float = 1.0
    """What the picture is made smaller by."""


Walk = Callable[[Page, PageService], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    name: str
    says: str
    view: View
    walk: Walk
    """Leads the page to what is shown."""


SHOTS: list[Shot] = []
NARROW: dict[str, Any] = {"width": 360, "height": 740, "dark": True, "touch": True}


def speaking(services: Services) -> PageService:
    return services.speaking


def keyed(services: Services) -> PageService:
    return services.keyed


def empty(services: Services) -> PageService:
    return services.empty


def shot(name: str, says: str, at: str, **view: Any) -> Callable[[Walk], Walk]:
    """Take the picture ``name`` after the walk."""

    def add(walk: Walk) -> Walk:
        SHOTS.append(Shot(name=name, says=says, view=View(at=at, **view), walk=walk))
        return walk

    return add


async def ask(page: Page, question: str) -> None:
    box = page.get_by_role("main").get_by_role("textbox").first
    await box.fill(question)
    await box.press("Enter")


@shot("ask-empty-narrow", "The same at 360 px, dark", "#/ask", **NARROW)
@shot("ask-empty", "Ask: before the first question", "#/ask")
async def _(page: Page, service: PageService) -> None:
    await expect(page.get_by_role("button", name="Acta").first).to_be_visible()


@shot("ask-no-documents", "Ask: the workspace has no documents", "#/ask", of=empty)
async def _(page: Page, service: PageService) -> None:
    await expect(page.get_by_text("Todavía no hay documentos")).to_be_visible()


@shot("ask-streaming", "An answer while it streams; Stop also stops the model", "#/ask", of=speaking)
async def _(page: Page, service: PageService) -> None:
    service.model.pieces, service.model.piece_delay = PIECES, 0.4
    await ask(page, DELIVERY)
    await expect(page.get_by_role("article").last).to_contain_text("siguiente con el detalle")


@shot("ask-stopped", "The user stopped the answer", "#/ask", of=speaking)
async def _(page: Page, service: PageService) -> None:
    service.model.pieces, service.model.piece_delay = PIECES, 0.1
    await ask(page, DELIVERY)
    await expect(page.get_by_role("article").last).to_contain_text("siguiente con el detalle")
    await page.get_by_role("button", name="Detener").click()
    await expect(page.get_by_role("article").get_by_text("Detenida por ti")).to_be_visible()


@shot("ask-cut", "The connection failed during an answer", "#/ask", of=speaking)
async def _(page: Page, service: PageService) -> None:
    service.model.pieces, service.model.piece_delay = PIECES, 0.1
    await ask(page, DELIVERY)
    await expect(page.get_by_role("article").last).to_contain_text("siguiente con el detalle")
    service.network.reset_all()
    await expect(page.get_by_text("Respuesta incompleta")).to_be_visible()


@shot("ask-slow", "A search that takes longer than a second", "#/ask")
async def _(page: Page, service: PageService) -> None:
    await expect(page.get_by_role("button", name="Acta").first).to_be_visible()
    service.network.switch(Fault.DELAY, seconds=9)
    await ask(page, CAUSE)
    await expect(page.get_by_role("article").get_by_text("La búsqueda tarda más de lo normal")).to_be_visible()


async def cited(page: Page, service: PageService) -> None:
    await ask(page, CAUSE)
    await page.get_by_role("article").last.get_by_role("button", name=re.compile(r"^(Cita|Citation) 1$")).first.click()
    await expect(page.locator("article mark").first).to_be_visible()


shot("ask-citation", "An answer and the cited passage", "#/ask")(cited)
shot("ask-citation-narrow", "The same at 360 px, dark", "#/ask", **NARROW)(cited)
shot("ask-citation-english", "The same in English", "#/ask", locale="en-GB")(cited)


@shot("ask-abstention", "No answer in the documents", "#/ask")
async def _(page: Page, service: PageService) -> None:
    await ask(page, "¿Quién ganó el mundial de ajedrez de 1972?")
    await expect(page.get_by_text("Los documentos no lo dicen").first).to_be_visible()


async def found(page: Page, service: PageService) -> None:
    await expect(page.get_by_role("article").first.locator("mark").first).to_be_visible()


SEARCH = "#/search?q=plazo+de+entrega"
shot("search", "Ranked passages with matches and filters", SEARCH)(found)
shot("search-narrow", "The same at 360 px, dark", SEARCH, **NARROW)(found)
shot("search-4k", "The same at 3840 px, made smaller", SEARCH, width=3840, height=2160, scale=3)(found)


async def explained(page: Page, service: PageService) -> None:
    await found(page, service)
    await page.get_by_role("button", name="¿Por qué aquí?").first.click()
    why = page.get_by_role("region", name="Por qué está en el puesto")
    await expect(why).to_be_visible()
    await page.get_by_role("article").first.evaluate("(one) => scrollBy(0, one.getBoundingClientRect().top - 70)")


shot("why", "The ranking of a passage: contributions of sources, moves of steps", SEARCH)(explained)
shot("why-narrow", "The same at 360 px, dark", SEARCH, **NARROW)(explained)


async def compared(page: Page, service: PageService) -> None:
    await page.get_by_role("button", name="Comparar").click()
    ranking = page.get_by_role("region", name="Dos clasificaciones")
    await expect(ranking).to_be_visible()
    await ranking.get_by_role("combobox").first.select_option("sparse")
    await expect(ranking.locator("svg line, svg path").first).to_be_attached()


shot("comparison", "Two rankings of one search, side by side", SEARCH)(compared)
shot("comparison-narrow", "The same at 360 px, dark", SEARCH, **NARROW)(compared)


@shot("search-empty", "Search: before the first query", "#/search")
async def _(page: Page, service: PageService) -> None:
    await expect(page.get_by_text("Escribe lo que buscas")).to_be_visible()


@shot("search-nothing", "No results within the filters", "#/search?q=plazo")
async def _(page: Page, service: PageService) -> None:
    await page.get_by_role("group", name="Idioma").get_by_role("checkbox").first.check()
    await page.get_by_label("Desde", exact=True).fill("2026-06-01")
    await expect(page.get_by_text("Ningún pasaje responde a esta búsqueda")).to_be_visible()


@shot("search-degraded", "The embedding model fails: full-text search answers, with a warning", SEARCH, of=speaking)
async def _(page: Page, service: PageService) -> None:
    service.model.always = "401"
    await page.get_by_role("searchbox").fill("garantía de los compresores")
    await expect(page.get_by_text("Respuesta parcial")).to_be_visible()


@shot("search-offline", "The service is unreachable", SEARCH)
async def _(page: Page, service: PageService) -> None:
    await found(page, service)
    service.network.switch(Fault.REFUSE)
    await page.get_by_role("searchbox").fill("teletrabajo")
    await expect(page.get_by_text("No se puede llegar al servicio").first).to_be_visible()


async def listed(page: Page, service: PageService) -> None:
    await expect(page.get_by_role("row").nth(5)).to_be_visible()


shot("documents", "Documents", "#/documents")(listed)
shot("documents-narrow", "The same at 360 px, dark", "#/documents", **NARROW)(listed)


@shot("documents-empty", "Documents: none yet", "#/documents", of=empty)
async def _(page: Page, service: PageService) -> None:
    await expect(page.get_by_text("Todavía no hay documentos")).to_be_visible()


@shot("documents-uploading", "Progress per file, with a remedy for each failure", "#/documents", of=empty)
async def _(page: Page, service: PageService) -> None:
    service.model.always = "hang"
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Elegir archivos").click()
    await (await chooser.value).set_files([DRAWING, NOTE, BROKEN, LARGE])
    await expect(page.get_by_text("Este tipo de archivo no se admite")).to_be_visible()
    await expect(page.get_by_text("Nuevo: 1 pasaje")).to_be_visible()
    await expect(page.get_by_text("Lo que dice el servicio")).to_have_count(2)


@shot("documents-undo", "A deleted document, with Undo", "#/documents", of=empty)
async def _(page: Page, service: PageService) -> None:
    await page.get_by_role("button", name=f"Borrar {NOTE['name']}").click()
    await expect(page.get_by_role("button", name="Deshacer")).to_be_focused()
    await expect(page.get_by_text("Borrado:")).to_be_visible()


PASSAGE = f"#/document/{quote(LONG_NAME, safe='')}?page=150&quote={quote('las mermas de la partida 150')}"


async def opened(page: Page, service: PageService) -> None:
    await expect(page.get_by_text("clave-150").first).to_be_in_viewport()


shot("document", "A document of 200 pages, opened at a passage", PASSAGE)(opened)
shot("document-narrow", "The same at 360 px, dark", PASSAGE, **NARROW)(opened)


@shot("document-hostile", "A document with hostile markup, shown as text", "#/search?q=cláusula+hostil", **NARROW)
async def _(page: Page, service: PageService) -> None:
    await page.get_by_role("article").filter(has_text="<svg onload").get_by_role("link").first.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("<img")


@shot("health-narrow", "The same at 360 px, dark", "#/health", **NARROW)
@shot("health", "Status: everything works", "#/health")
async def _(page: Page, service: PageService) -> None:
    await expect(page.get_by_text("Todo funciona.")).to_be_visible()


@shot("health-database-dead", "Status: the database is down", "#/health")
async def _(page: Page, service: PageService) -> None:
    await expect(page.get_by_text("Todo funciona.")).to_be_visible()
    service.kill_database()
    await asyncio.sleep(1.1)  # what was seen is told for a second
    await page.get_by_role("button", name="Actualizar").click()
    await expect(page.get_by_text("No puede responder ahora.")).to_be_visible()


# after what is well: a turn that is asked here waits for its vector
@shot("health-degraded", "Status: a model fails", "#/ask", of=speaking, height=960)
async def _(page: Page, service: PageService) -> None:
    service.model.always = "401"
    await ask(page, DELIVERY)
    await expect(page.get_by_role("article").get_by_role("alert")).to_be_visible()
    await page.get_by_role("link", name="Estado").click()
    await expect(page.get_by_text("Responde, pero le faltan fuentes.")).to_be_visible()


@shot("key-needed", "A key is required", "#/documents", of=keyed)
async def _(page: Page, service: PageService) -> None:
    await expect(page.get_by_role("alert").filter(has_text="Hace falta una clave").first).to_be_visible()


async def offered(page: Page, service: PageService) -> None:
    await page.get_by_role("banner").get_by_role("button", name="Clave").click()
    await page.get_by_role("dialog").get_by_label("Clave", exact=True).fill("rk_4f1c.no-es-esta")


shot("key-dialog", "The key, and how long to keep it", "#/documents", of=keyed)(offered)


@shot("key-wrong", "An invalid key, at 360 px, dark", "#/documents", of=keyed, **NARROW)
async def _(page: Page, service: PageService) -> None:
    await offered(page, service)
    await page.get_by_role("dialog").get_by_role("button", name="Usar clave").click()
    await expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("Esta clave no es válida")


@shot("key-forbidden", "A key without the scope `ask`, at 360 px, dark", "#/ask", of=keyed, key="search", **NARROW)
async def _(page: Page, service: PageService) -> None:
    await ask(page, DELIVERY)
    await expect(page.get_by_text("Tu clave no permite esto")).to_be_visible()
