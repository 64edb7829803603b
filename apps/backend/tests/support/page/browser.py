"""Chromium, and pages in it that are watched for what no page of ours may do."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Page, Request, Response, async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
AXE = Path(__file__).resolve().parents[4] / "frontend-stub" / "node_modules" / "axe-core" / "axe.min.js"
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
ARGUMENTS = [
    "--disable-quic",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str | None:
    """Return the program, None where none is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser with a profile of its own. Needs no Node on the machine."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


@dataclass  # Playwright keeps its own attributes on whose methods it calls
class Watch:
    """What went wrong in a page: errors on the console (breaches of its policy are such), exceptions, and requests to
    another origin than ``origin``."""

    origin: str
    found: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    expected: list[re.Pattern[str]] = field(default_factory=list)

    def expect(self, *patterns: str) -> None:
        """Let errors pass that match; a browser writes ``Failed to load resource: ... 401`` on its console."""
        self.expected += map(re.compile, patterns)

    def unexpected(self) -> list[str]:
        return [item for item in self.found if not any(pattern.search(item) for pattern in self.expected)]

    def attach(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.found.append(f"exception: {error}"))
        page.on("request", self._asked)
        page.on("response", self._answered)

    def _answered(self, response: Response) -> None:  # what is built in takes no attribute either
        self.responses.append(response)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.found.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _asked(self, request: Request) -> None:
        self.requests.append(request)
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.found.append(f"foreign: {request.url}")


async def accessibility_faults(page: Page) -> list[str]:
    """Return what axe finds against WCAG 2.2 AA: rule, what it is about, and the elements."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text(encoding="utf-8"))
    await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    results: list[dict[str, Any]] = await page.evaluate(
        "async (rules) => (await axe.run(document, { runOnly: rules })).violations", AXE_RULES
    )
    return [
        f"{item['id']}: {item['help']}: {[' '.join(map(str, node['target'])) for node in item['nodes']]}"
        for item in results
    ]


async def scrolls_sideways(page: Page) -> bool:
    """Say whether anything makes the page wider than the window."""
    wide: bool = await page.evaluate("document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth")
    return wide
