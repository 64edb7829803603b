"""Documents, in a browser: in by a choice of files, out with a way back."""

from __future__ import annotations

import pytest
from playwright.async_api import FilePayload, expect

from support.page_browser import accessibility_faults

from .conftest import OpenPage, Serve, watch_of

pytestmark = [pytest.mark.anyio, pytest.mark.page]

NOTE: FilePayload = {
    "name": "nota.md",
    "mimeType": "text/markdown",
    "buffer": b"# Nota\n\nEl plazo es de tres meses.\n",
}
PICTURE: FilePayload = {"name": "foto.xyz", "mimeType": "", "buffer": b"x"}
HIDDEN: FilePayload = {"name": ".DS_Store", "mimeType": "", "buffer": b"x"}


async def test_a_file_goes_in_is_deleted_and_comes_back(serve: Serve, open_page: OpenPage) -> None:
    page = await open_page(await serve(documents=False), "#/documents")
    watch_of(page).expect(r"status of 415")
    await expect(page.get_by_text("Todavía no hay documentos")).to_be_visible()
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Elegir archivos").click()
    await (await chooser.value).set_files([NOTE, PICTURE, HIDDEN])
    await expect(page.get_by_text("Nuevo: 1 pasaje")).to_be_visible()
    await expect(page.get_by_text("Este tipo de archivo no se admite")).to_be_visible()
    await expect(page.get_by_text("Se ha omitido 1 archivo oculto o del sistema")).to_be_visible()
    assert await accessibility_faults(page) == []

    row = page.get_by_role("row").filter(has_text="nota.md")
    await row.get_by_role("button", name="Borrar nota.md").click()
    await expect(row).to_have_count(0)
    undo = page.get_by_role("button", name="Deshacer")
    await expect(undo).to_be_focused()
    assert await accessibility_faults(page) == []
    await page.keyboard.press("Enter")
    await expect(row.get_by_role("link")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Nota", level=1)).to_be_visible()
    await expect(page.get_by_role("region", name="Texto del documento")).to_contain_text("El plazo es de tres meses.")
