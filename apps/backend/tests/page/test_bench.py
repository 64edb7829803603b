"""What the other tests of this folder rest on: a fault in a page is seen, and each service is what it says."""

from __future__ import annotations

import pytest

from support.page.browser import accessibility_faults
from support.page.documents import LEGAL, SALES
from support.page.service import PageService

from .conftest import OpenPage, watch_of

pytestmark = [pytest.mark.anyio, pytest.mark.page]


@pytest.mark.parametrize(
    ("does", "seen"),
    [
        ("document.body.innerHTML = '<b>x</b>'", "TrustedHTML"),
        ("const each = document.createElement('script'); each.src = 'http://example.org/x.js'", "TrustedScriptURL"),
        ("document.body.append(Object.assign(new Image(), {src: 'http://example.org/x'}))", "Content Security Policy"),
        ("fetch('http://example.org/').catch(() => null)", "Content Security Policy"),
        ("console.error('roto')", "roto"),
        ("setTimeout(() => { throw new Error('de golpe') })", "exception: de golpe"),
        ("document.body.setAttribute('style', 'color: red')", "Content Security Policy"),
        ("fetch('./nada')", "404"),
    ],
)
async def test_a_fault_of_the_page_is_seen(library: PageService, open_page: OpenPage, does: str, seen: str) -> None:
    page = await open_page(library)
    watch = watch_of(page)
    await page.evaluate(f"() => {{ try {{ {does} }} catch (error) {{ }} }}")
    await page.wait_for_timeout(50)
    for _ in range(100):
        if any(seen in item for item in watch.found):
            break
        await page.wait_for_timeout(50)
    assert any(seen in item for item in watch.found), watch.found
    watch.expect(".")


async def test_a_fault_of_accessibility_is_seen(library: PageService, open_page: OpenPage) -> None:
    page = await open_page(library)
    await page.evaluate("document.body.append(document.createElement('button'))")
    assert any("button-name" in item for item in await accessibility_faults(page))


async def test_the_keys_are_of_two_workspaces(keyed: PageService) -> None:
    async with keyed.client() as client:
        assert (await client.get("/documents")).status_code == 401
        names = {}
        for workspace in (SALES, LEGAL):
            answer = await client.get("/documents", headers={"Authorization": f"Bearer {keyed.keys[workspace]}"})
            names[workspace] = {item["external_id"] for item in answer.json()["documents"]}
    assert names == {SALES: {"precios.md"}, LEGAL: {"pleito.md"}}
