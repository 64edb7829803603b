"""Documents, in a browser: in by files, by a folder and by a drop; out with a way back; and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest
from playwright.async_api import FilePayload, Locator, Page, expect

from support.faults.proxy import Fault
from support.page.browser import accessibility_faults, scrolls_sideways
from support.page.documents import LEGAL, SALES
from support.page.service import PageService

from .conftest import OpenPage, Serve, watch_of

pytestmark = [pytest.mark.anyio, pytest.mark.page]

LARGEST = 20_000
STORED = ["100 % seguro?.md", "a#b&c.md", "<img src=x onerror=alert(1)>.md", "sub/%2e%2e%2f.md", "sub/año.md"]
REFUSED = {
    "carpeta/grande.txt": f"El límite es {LARGEST // 1000} kB",
    "carpeta/programa.exe": "Este tipo de archivo no se admite",
    "carpeta/roto.pdf": "No se le puede sacar ningún texto",
}
DROP = """
(given) => {
  const transfer = new DataTransfer();
  for (const [name, text] of given) transfer.items.add(new File([text], name));
  for (const name of ["dragenter", "dragover", "drop"])
    document.querySelector("main").dispatchEvent(
      new DragEvent(name, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}
"""


def note(name: str) -> FilePayload:
    return {"name": name, "mimeType": "text/markdown", "buffer": f"# {name}\n\nTexto.\n".encode()}


def folder_in(place: Path) -> Path:
    """A folder with names that an address could trip over, files that are refused, and some that nobody wrote."""
    folder = place / "carpeta"
    (folder / "sub").mkdir(parents=True)
    for name in STORED:
        (folder / normalize("NFD", name)).write_text("# Una\n\nTexto.\n")
    (folder / "vacio.txt").touch()
    (folder / "grande.txt").write_text("palabra " * (LARGEST // 4))
    (folder / "programa.exe").write_bytes(b"MZ\x90\x00")
    (folder / "roto.pdf").write_text("no es un PDF")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").touch()
    (folder / "Thumbs.db").touch()
    return folder


async def choose(page: Page, files: list[FilePayload] | Path, *, by: str = "Elegir archivos") -> None:
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name=by).click()
    await (await chooser.value).set_files(files)


def upload_of(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name="Subidas").get_by_role("listitem").filter(has_text=name)


async def names_in(service: PageService, *, key: str | None = None, prefix: str = "") -> list[str]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with service.client() as client:
        result = await client.get("/documents", params={"limit": 200, "prefix": prefix}, headers=headers)
        return sorted(item["external_id"] for item in result.raise_for_status().json()["documents"])


async def test_a_folder_goes_in_and_each_file_tells_how_it_fared(
    serve: Serve, open_page: OpenPage, tmp_path: Path
) -> None:
    service = await serve(documents=False, MAX_FILE_BYTES=str(LARGEST))
    page = await open_page(service, "#/documents")
    watch_of(page).expect(r"status of (413|415|422)")
    await expect(page.get_by_text("Todavía no hay documentos")).to_be_visible()
    await choose(page, folder_in(tmp_path), by="Elegir carpeta")
    for name, said in REFUSED.items():
        await expect(upload_of(page, name)).to_contain_text(said)
    for name in STORED:
        await expect(upload_of(page, f"carpeta/{name}")).to_contain_text("Nuevo: 1 pasaje")
    await expect(page.get_by_text("Se han omitido 2 archivos ocultos o del sistema")).to_be_visible()
    await page.get_by_text("Se ha omitido 1 archivo vacío").click()
    await expect(page.get_by_text("carpeta/vacio.txt")).to_be_visible()
    assert await names_in(service) == sorted(f"carpeta/{name}" for name in STORED)
    await page.get_by_text("Lo que dice el servicio").nth(1).click()
    assert await accessibility_faults(page) == []
    await page.set_viewport_size({"width": 360, "height": 800})
    assert not await scrolls_sideways(page)

    await page.route("**/documents/tope.md", lambda route: route.fulfill(status=413, body="<html>413"))  # a proxy's
    given = [["soltado.md", "# Soltado"], ["desktop.ini", "x"], [f"{'n' * 600}.md", "# Largo"], ["tope.md", "# Tope"]]
    await page.evaluate(DROP, given)
    await expect(upload_of(page, "tope.md")).to_contain_text("Demasiado grande")
    await expect(upload_of(page, "soltado.md")).to_contain_text("Nuevo: 1 pasaje")
    await expect(upload_of(page, "nnn")).to_contain_text("hasta 500 caracteres")
    await expect(page.get_by_text("Se ha omitido 1 archivo oculto o del sistema")).to_be_visible()
    assert not await scrolls_sideways(page)
    await page.get_by_role("button", name="Quitar los terminados").click()
    await expect(page.get_by_role("heading", name="Documentos")).to_be_focused()  # the button is gone

    await page.get_by_role("searchbox", name="Nombre que empieza por").fill("carpeta/1")
    await expect(page.get_by_text("1 documento", exact=True)).to_be_visible()
    await page.get_by_role("row").filter(has_text="100 % seguro?.md").get_by_role("link").click()
    await expect(page.get_by_role("region", name="Texto del documento")).to_contain_text("Texto.")
    original = await page.get_by_role("link", name="Ver el original").get_attribute("href")
    assert (await page.request.get(f"{service.url}{original}")).headers["content-type"].startswith("text/markdown")


async def test_nothing_is_lost_where_the_database_and_the_network_fail(serve: Serve, open_page: OpenPage) -> None:
    service = await serve(documents=False)
    page = await open_page(service, "#/documents")
    watch_of(page).expect(r"status of 503", r"ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED")
    uploads = page.get_by_role("region", name="Subidas")
    stored, held = page.locator(".upload[data-state=done]"), uploads.get_by_text("no da abasto o no responde")
    service.network.switch(Fault.DELAY, seconds=0.3)  # else all is over before anything fails
    await choose(page, [note(f"lote-{number:02}.md") for number in range(24)])
    await expect(stored).not_to_have_count(0)
    service.kill_database()
    await expect(held).to_be_visible()
    service.network.switch(Fault.REFUSE)
    await expect(page.get_by_text("No se puede llegar al servicio")).to_be_visible()
    await uploads.get_by_role("button", name="Cancelar la subida de lote-23.md").click()
    await expect(uploads.get_by_role("heading", name="Subidas")).to_be_focused()
    service.heal()
    await expect(uploads).to_contain_text("23 de 24 archivos")
    await expect(uploads.get_by_role("button", name="Reintentar lote-23.md")).to_be_visible()
    assert await names_in(service) == [f"lote-{number:02}.md" for number in range(23)]


async def test_what_is_deleted_comes_back_after_a_reload_and_in_another_tab(serve: Serve, open_page: OpenPage) -> None:
    service = await serve(documents=True)
    page, other = await open_page(service, "#/documents"), await open_page(service, "#/documents")
    for item in (page, other):
        watch_of(item).expect(r"status of (404|503)")
    first, second, third = (await names_in(service))[:3]

    # one, by two people at once: it is deleted and comes back for both
    for item in (page, other):
        await item.get_by_role("button", name=f"Borrar {first}", exact=True).click()
        await expect(item.get_by_role("region", name="Documentos borrados hace un momento")).to_contain_text("Borrado:")
    for item in (page, other):
        await expect(item.get_by_role("button", name="Deshacer")).to_be_focused()
        await item.keyboard.press("Enter")
        await expect(item.get_by_role("row").filter(has_text=first).get_by_role("link")).to_be_focused()

    # several at once; after a reload the way back is the list of the deleted
    for name in (first, second, third):
        await page.get_by_role("checkbox", name=f"Seleccionar {name}", exact=True).check()
    await page.get_by_role("button", name="Borrar selección (3)").click()
    await expect(page.get_by_text("3 documentos borrados.")).to_be_visible()
    await page.reload()
    await page.get_by_role("checkbox", name="Ver los borrados").check()
    for name in (first, second, third):
        await page.get_by_role("button", name=f"Restaurar {name}", exact=True).click()
    await expect(page.get_by_text("No hay documentos borrados")).to_be_visible()
    await page.get_by_role("checkbox", name="Ver los borrados").uncheck()
    await expect(page.get_by_role("row").filter(has_text=first)).to_be_visible()

    # what is deleted while somebody reads it can be read to its end
    await other.get_by_role("row").filter(has_text=second).get_by_role("link").click()
    await expect(other.get_by_role("region", name="Texto del documento")).to_contain_text("Acta")
    await page.get_by_role("button", name=f"Borrar {second}", exact=True).click()
    await expect(page.get_by_text("Borrado:")).to_be_visible()
    await other.get_by_role("searchbox", name="Buscar en el documento").fill("acta")
    await expect(other.locator("mark.current")).to_be_in_viewport()
    await other.reload()
    await expect(other.get_by_text("Este documento no está")).to_be_visible()

    # what cannot be deleted is still there
    service.kill_database()
    await page.get_by_role("button", name=f"Borrar {first}", exact=True).click()
    await expect(page.get_by_text("1 documento sigue donde estaba")).to_be_visible()
    await expect(page.get_by_role("row").filter(has_text=first)).to_be_visible()
    service.heal()

    # page by page, and the focus goes on where it was
    shown = page.get_by_role("table").get_by_role("row")
    await expect(shown).to_have_count(51)
    await page.get_by_role("button", name="Mostrar más", exact=True).click()
    await expect(shown).not_to_have_count(51)
    await expect(shown.nth(51).get_by_role("link")).to_be_focused()


async def test_files_wait_for_a_key_and_no_key_sees_what_is_anothers(serve: Serve, open_page: OpenPage) -> None:
    service = await serve(documents=True, keys=True)
    page = await open_page(service, "#/documents")
    watch_of(page).expect(r"status of (401|403)")

    async def give(key: str) -> None:
        await page.get_by_role("banner").get_by_role("button", name="Clave").click()
        dialog = page.get_by_role("dialog")
        await dialog.locator("input[type=password]").fill(service.keys[key])
        await dialog.get_by_role("button", name="Usar clave").click()
        await expect(dialog).to_be_hidden()

    # without a key they are kept until there is one; one that may not store says so, once for all
    await choose(page, [note(f"mía-{number}.md") for number in range(3)])
    paused = page.get_by_role("alert").filter(has_text="Subida en pausa")
    await expect(paused.get_by_role("button", name="Introducir clave")).to_be_visible()
    await give(SALES)
    await expect(page.get_by_role("region", name="Subidas")).to_contain_text("3 de 3 archivos")
    await expect(page.get_by_role("row").filter(has_text="precios.md")).to_be_visible()
    assert await names_in(service, key=service.keys[SALES]) == ["mía-0.md", "mía-1.md", "mía-2.md", "precios.md"]

    # another key in the middle: nothing of the one before is shown, nothing more is sent for it
    service.network.switch(Fault.DELAY, seconds=0.5)
    await choose(page, [note(f"otra-{number}.md") for number in range(20)])
    await expect(upload_of(page, "otra-").and_(page.locator("[data-state=done]")).first).to_be_visible()
    await give(LEGAL)
    service.heal()
    await expect(page.get_by_role("row").filter(has_text="pleito.md")).to_be_visible()
    await expect(page.get_by_role("region", name="Subidas")).to_have_count(0)
    await expect(page.get_by_role("row").filter(has_text="precios.md")).to_have_count(0)
    assert await names_in(service, key=service.keys[LEGAL]) == ["pleito.md"]
    assert len(await names_in(service, key=service.keys[SALES], prefix="otra-")) < 20

    # one that is not valid any more: whoever gives the next one says what becomes of the files
    await page.route("**/documents/perdida-*", lambda route: route.fulfill(status=401))
    await choose(page, [note(f"perdida-{number}.md") for number in range(4)])
    await expect(paused).to_be_visible()
    await page.unroute("**/documents/perdida-*")
    await give(SALES)
    await expect(page.get_by_role("alert")).to_contain_text("4 archivos quedaron sin subir")
    assert await names_in(service, key=service.keys[SALES], prefix="perdida-") == []
    await page.get_by_role("button", name="Subir con esta clave").click()
    await expect(page.get_by_role("region", name="Subidas")).to_contain_text("4 de 4 archivos")
    await expect(page.get_by_role("heading", name="Subidas")).to_be_focused()

    await give("search")
    await choose(page, [note(f"tercera-{number}.md") for number in range(5)])
    await expect(paused).to_contain_text("Tu clave no permite añadir ni borrar documentos")
    await page.get_by_role("button", name="Cancelar todo").click()
    await page.get_by_role("button", name="Borrar precios.md").click()
    await expect(page.get_by_text("1 documento sigue donde estaba")).to_be_visible()
    await expect(page.get_by_role("row").filter(has_text="precios.md")).to_be_visible()
    assert await accessibility_faults(page) == []
