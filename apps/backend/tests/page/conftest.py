"""A real browser on the real service. How to write a test of a view:

    pytestmark = [pytest.mark.anyio, pytest.mark.page]

    async def test_a_passage_is_found(library: PageService, open_page: OpenPage) -> None:
        page = await open_page(library, "#/search")
        await page.get_by_role("searchbox").fill("teletrabajo")
        ...

Playwright's async API; `await expect(locator).to_be_visible()` waits by itself. Never sleep; nothing is timed.

Services (``support/page/service.py``: PageService), each a process over a database of its own:
- ``library``: for the whole run, read only. No keys. The demo corpus, a PDF of 200 pages and hostile documents
  (``support/page/documents.py``: COMPANY, LONG_NAME, HOSTILE, LONG_WORD, BIDI), with vectors: dense, sparse and hybrid
  differ. Answers are extractive, hence real.
- ``speaking``: the same, but answers come from ``speaking.model`` (``support/models/openai_server.py``): set ``pieces``
  (deltas, cite as ``[1]``), ``piece_delay`` (seconds), ``faults = ["cut"]`` (one a request); ``model.closed`` is set
  when the service hung up (Stop). ``model.seen`` are the requests that came.
- ``keyed``: for the whole run, read only. ``keyed.keys[SALES]``, ``[LEGAL]``, ``["search"]`` (may not ask or store).
- ``serve(documents=True, keys=False, **settings)``: one of your own, to write to or to break; 2 s each, so one a file
  if you can. ``documents=False``: an empty database.

Faults: ``service.kill_database()``; ``service.network.switch(Fault.REFUSE)`` (offline), ``Fault.DELAY, seconds=2``
(slow), ``Fault.CUT, amount=2000`` (cut stream), ``Fault.HANG``; ``service.heal()``. The shared services are healed
after each test.

``open_page(service, "#/ask", width=, height=, theme="dark", locale="en-US", reduced_motion=True, key=, url=)`` opens a
context of its own and waits until the page shows its sections. Errors on the console, exceptions, breaches of the
policy and requests to other origins fail the test; what a test means to cause it says:
``watch_of(page).expect(r"status of 401")``. ``accessibility_faults(page)`` is axe (WCAG 2.2 AA):
``assert await accessibility_faults(page) == []``; ``scrolls_sideways(page)`` for 360 px. Both are in
``support/page/browser.py``. After each test the title of the tab must not be ROTO: no text of a document ran. A picture
of what a failing test saw is in ``build/page-failures``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal, Protocol
from weakref import WeakKeyDictionary

import pytest
from playwright.async_api import Browser, Page, expect

from support.page.browser import Watch, chromium, chromium_path
from support.page.documents import fill, make_keys
from support.page.service import PageService, page_service

FAILURES = Path(__file__).resolve().parents[4] / "build" / "page-failures"
WATCHES: WeakKeyDictionary[Page, Watch] = WeakKeyDictionary()
PATIENCE_MS = 15_000
"""Of what waits by itself: a busy machine is no fault of the page."""

REPORT = pytest.StashKey[pytest.TestReport]()


class OpenPage(Protocol):
    async def __call__(
        self,
        service: PageService,
        at: str = "",
        *,
        width: int = 1280,
        height: int = 800,
        theme: Literal["light", "dark"] = "light",
        locale: str = "es-ES",
        reduced_motion: bool = False,
        key: str | None = None,
        url: str | None = None,
    ) -> Page: ...


class Serve(Protocol):
    async def __call__(self, *, documents: bool = True, keys: bool = False, **settings: str) -> PageService: ...


def watch_of(page: Page) -> Watch:
    return WATCHES[page]


@pytest.fixture(scope="session", autouse=True)
def bench_is_ready() -> None:
    expect.set_options(timeout=PATIENCE_MS)
    if chromium_path() is None:
        pytest.fail("Chromium is not installed: `make test-page`, as root, installs it")


@pytest.fixture(scope="session")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
async def filled_database(anyio_backend: str, postgres_server: Any, template_database: str) -> str:
    """The name of a database with all documents, to be cloned."""
    name = "page_library"
    with postgres_server.superuser() as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template_database}" OWNER ragcorp_owner')
    await fill(postgres_server.dsn(name))
    return name


@pytest.fixture(scope="session")
def clone(postgres_server: Any) -> Callable[[str], str]:
    """Clone a database; return the DSN of what goes away with the server."""
    made: list[str] = []

    def clone(template: str) -> str:
        name = f"page_{len(made)}"
        made.append(name)
        with postgres_server.superuser() as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" OWNER ragcorp_owner STRATEGY file_copy')
        dsn: str = postgres_server.dsn(name)
        return dsn

    return clone


@pytest.fixture(scope="session")
async def library_of_run(filled_database: str, clone: Callable[[str], str]) -> AsyncIterator[PageService]:
    async with page_service(clone(filled_database)) as service:
        yield service


@pytest.fixture(scope="session")
async def speaking_of_run(filled_database: str, clone: Callable[[str], str]) -> AsyncIterator[PageService]:
    async with page_service(clone(filled_database), ANSWER_PROVIDER="openai") as service:
        yield service


@pytest.fixture(scope="session")
async def keyed_of_run(filled_database: str, clone: Callable[[str], str]) -> AsyncIterator[PageService]:
    dsn = clone(filled_database)
    async with page_service(dsn, keys=await make_keys(dsn)) as service:
        yield service


@pytest.fixture
def library(library_of_run: PageService) -> Iterator[PageService]:
    yield library_of_run
    library_of_run.heal()


@pytest.fixture
def speaking(speaking_of_run: PageService) -> Iterator[PageService]:
    yield speaking_of_run
    speaking_of_run.heal()


@pytest.fixture
def keyed(keyed_of_run: PageService) -> Iterator[PageService]:
    yield keyed_of_run
    keyed_of_run.heal()


@pytest.fixture
async def serve(
    request: pytest.FixtureRequest, filled_database: str, template_database: str, clone: Callable[[str], str]
) -> AsyncIterator[Serve]:
    async with AsyncExitStack() as stack:

        async def serve(*, documents: bool = True, keys: bool = False, **settings: str) -> PageService:
            dsn = clone(filled_database if documents else template_database)
            made = await make_keys(dsn) if keys else None
            return await stack.enter_async_context(page_service(dsn, keys=made, **settings))

        yield serve


@pytest.fixture
async def open_page(browser: Browser, request: pytest.FixtureRequest) -> AsyncIterator[OpenPage]:
    pages: list[Page] = []

    async def open_page(
        service: PageService,
        at: str = "",
        *,
        width: int = 1280,
        height: int = 800,
        theme: Literal["light", "dark"] = "light",
        locale: str = "es-ES",
        reduced_motion: bool = False,
        key: str | None = None,
        url: str | None = None,
    ) -> Page:
        context = await browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            locale=locale,
            reduced_motion="reduce" if reduced_motion else "no-preference",
            service_workers="block",
        )
        context.set_default_timeout(PATIENCE_MS)
        address = url or service.url
        origin = re.sub(r"^(\w+://[^/]+).*", r"\1", address)
        page = await context.new_page()
        WATCHES[page] = Watch(origin=origin)
        WATCHES[page].attach(page)
        pages.append(page)
        if key is not None:  # as a tab that was told to keep it
            await page.add_init_script(f"sessionStorage.setItem('ragcorp.key', {key!r})")
        await page.goto(f"{address}{at}")
        await expect(page.get_by_role("navigation").first).to_be_visible()
        return page

    yield open_page
    failed = getattr(request.node.stash.get(REPORT, None), "failed", False)
    faults: list[str] = []
    for number, page in enumerate(pages):
        if failed and not page.is_closed():
            FAILURES.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"\W+", "-", request.node.name)
            await page.screenshot(path=FAILURES / f"{name}-{number}.png")
        if not page.is_closed():
            assert "ROTO" not in await page.title()
        faults += WATCHES[page].unexpected()
        await page.context.close()
    assert not faults, "\n".join(faults)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: Any = yield
    if report.when == "call":
        item.stash[REPORT] = report
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have measured; a busy machine is no fault, so nothing of it is asserted."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties if report.when == "call" else ():
            terminalreporter.write_line(f"measured: {name}: {value}")
