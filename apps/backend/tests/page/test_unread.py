"""What was not read of a file, in a browser: where it goes in, where it is read, and where an answer rests on it."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import FilePayload, expect

from support.page.browser import accessibility_faults, scrolls_sideways
from support.parsing.partly_read import archive_with_a_program, pdf_with_scanned_pages

from .conftest import OpenPage, Serve

pytestmark = [pytest.mark.anyio, pytest.mark.page]

FILES: list[FilePayload] = [
    {"name": "a.md", "mimeType": "text/markdown", "buffer": b"# Uno\n\nTexto entero.\n"},
    {"name": "anexos.zip", "mimeType": "application/zip", "buffer": archive_with_a_program()},
    {"name": "plazos.pdf", "mimeType": "application/pdf", "buffer": pdf_with_scanned_pages()},
]
PAGES = "2 páginas no tienen texto: 2, 4"


async def test_a_person_sees_what_was_not_read(serve: Serve, open_page: OpenPage) -> None:
    service = await serve(documents=False)
    page = await open_page(service, "#/documents")
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Elegir archivos").click()
    await (await chooser.value).set_files(FILES)
    uploads = page.get_by_role("region", name="Subidas")
    uploaded = uploads.locator(".upload")
    await expect(uploads.locator(".upload[data-state=done]")).to_have_count(3)
    await expect(uploaded.nth(0)).to_contain_text("1 archivo de dentro no se ha leído: programa.exe")
    await expect(uploaded.nth(1)).to_contain_text(PAGES)
    await expect(uploaded.nth(2)).not_to_contain_text("No se ha leído")
    await page.set_viewport_size({"width": 360, "height": 800})
    assert await accessibility_faults(page) == []
    assert not await scrolls_sideways(page)

    await uploads.get_by_role("link", name="plazos.pdf").click()
    notice = page.locator(".notice").filter(has_text="No se ha leído todo el archivo")
    await expect(notice).to_contain_text(PAGES)
    assert await accessibility_faults(page) == []
    assert not await scrolls_sideways(page)

    english = await open_page(service, "#/ask", locale="en-GB", width=360)
    await english.get_by_role("textbox", name="Your question").fill("¿Cuál es el plazo de entrega del apartado 3?")
    await english.keyboard.press("Enter")
    incomplete = english.get_by_role("status").filter(has_text="The answer may lack something")
    await expect(incomplete).to_contain_text("2 pages have no text: 2, 4")
    assert await accessibility_faults(english) == []
    assert not await scrolls_sideways(english)
    await incomplete.get_by_role("link").click()
    await expect(english).to_have_url(re.compile(r"#/document/plazos.pdf"))
    await expect(english.get_by_text("Not all of the file was read")).to_be_visible()


async def test_a_person_goes_from_an_archive_to_the_files_inside_and_back(serve: Serve, open_page: OpenPage) -> None:
    service = await serve(documents=False)
    page = await open_page(service, "#/documents")
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Elegir archivos").click()
    await (await chooser.value).set_files(FILES[1:2])
    await page.get_by_role("region", name="Subidas").get_by_role("link", name="anexos.zip").click()
    await page.get_by_text("1 archivo dentro, con su documento").click()
    await page.get_by_role("link", name="anexos.zip/contrato.md").click()
    await expect(page.get_by_role("heading", name="Contrato", level=1)).to_be_visible()
    assert await accessibility_faults(page) == []
    await page.get_by_text("Archivo de dentro de").get_by_role("link", name="anexos.zip").click()
    await expect(page.get_by_text("1 archivo dentro, con su documento")).to_be_visible()
