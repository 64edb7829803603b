"""Takes the pictures of docs/page from the real service: `make page-screenshots`. What they show is for a person to
look at; nothing is compared."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from PIL import Image
from playwright.async_api import Browser, expect
from playwright.async_api import Error as PlaywrightError
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from ragcorp.infrastructure.embedded_postgres.launcher import EmbeddedPostgres
from ragcorp.infrastructure.postgres.administration.migrations import migrate
from ragcorp.infrastructure.postgres.connections.database import of_every_workspace
from support.models.embedders import TEST_MODEL
from support.models.rerank_server import rerank_server
from support.page.browser import chromium
from support.page.documents import fill, make_keys
from support.page.service import page_service
from support.page.states import SHOTS, Services, Shot
from support.storage.places import memory_folder

PICTURES = Path(__file__).resolve().parents[5] / "docs" / "page"
FAILURES = PICTURES.parents[1] / "build" / "page-failures"
MOST_BYTES = 60_000
MOST_BYTES_TOGETHER = 1_200_000
PATIENCE_MS = 10_000


@contextmanager
def databases() -> Iterator[Callable[[str], str]]:
    """Yield what makes a database with no rows, by name, and returns its DSN; the server goes away."""
    folder = Path(tempfile.mkdtemp(prefix="ragcorp-pictures-", dir=memory_folder()))
    folder.chmod(0o755)  # as root, the database server runs as another user
    try:
        with EmbeddedPostgres(data_dir=folder / "data", settings={"fsync": "off"}) as server:
            passwords: dict[str, str] = json.loads((folder / "data" / "credentials.json").read_text())

            def dsn(name: str, role: str = "ragcorp_app") -> str:
                made = make_conninfo(
                    host=server.host, port=server.port, dbname=name, user=role, password=passwords[role]
                )
                return of_every_workspace(made)

            def make(name: str) -> str:
                with psycopg.connect(dsn("postgres", "postgres"), autocommit=True) as connection:
                    copied = SQL("CREATE DATABASE {} TEMPLATE ragcorp OWNER ragcorp_owner STRATEGY file_copy")
                    connection.execute(copied.format(Identifier(name)))
                return dsn(name)

            migrate(
                dsn("ragcorp", "ragcorp_owner"),
                embedding_model=(TEST_MODEL.name, TEST_MODEL.dimensions),
                application_dsn=dsn("ragcorp"),
                superuser_dsn=dsn("ragcorp", "postgres"),
            )
            yield make
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def services(make: Callable[[str], str]) -> AsyncIterator[Services]:
    full, locked, empty = make("full"), make("locked"), make("empty")
    await fill(full)
    keys = await make_keys(locked)
    async with rerank_server() as reranker:
        reranker.answer = by_words
        reranking = {"RERANK_PROVIDER": "http", "RERANK_URL": reranker.url, "RERANK_MODEL": "reordena"}
        async with (
            page_service(full, **reranking) as library,
            page_service(full, ANSWER_PROVIDER="openai") as speaking,
            page_service(locked, keys=keys) as keyed,
            page_service(empty) as nothing,
        ):
            yield Services(library=library, speaking=speaking, keyed=keyed, empty=nothing)


def by_words(body: dict[str, Any]) -> dict[str, Any]:
    """Score each passage by the share of the query's words in it: order enough to move some."""
    words = {word for word in body["query"].lower().split() if len(word) > 3}
    shares = [sum(word in text.lower() for word in words) / max(1, len(words)) for text in body["documents"]]
    return {"results": [{"index": index, "relevance_score": share} for index, share in enumerate(shares)]}


async def picture_of(shot: Shot, browser: Browser, of: Services) -> bytes:
    """Return what a window shows after the walk, as PNG."""
    view = shot.view
    service = view.of(of)
    context = await browser.new_context(
        viewport={"width": view.width, "height": view.height},
        color_scheme="dark" if view.dark else "light",
        locale=view.locale,
        reduced_motion="reduce",
        has_touch=view.touch,
        is_mobile=view.touch,
        service_workers="block",
    )
    context.set_default_timeout(PATIENCE_MS)
    try:
        page = await context.new_page()
        if view.key is not None:
            await page.add_init_script(f"sessionStorage.setItem('ragcorp.key', {service.keys[view.key]!r})")
        await page.goto(f"{service.url}{view.at}")
        try:
            await shot.walk(page, service)
        except (AssertionError, PlaywrightError) as error:
            FAILURES.mkdir(parents=True, exist_ok=True)
            await page.screenshot(path=FAILURES / f"{shot.name}.png")
            raise AssertionError(
                f"{shot.name}: {str(error).splitlines()[0]} (what was seen is in {FAILURES})"
            ) from error
        return await page.screenshot()
    finally:
        service.heal()
        await context.close()


def small(png: bytes, scale: float) -> bytes:
    """Return a picture as WebP with as many colours as there is room for."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    if scale != 1:
        picture = picture.resize(
            (round(picture.width / scale), round(picture.height / scale)), Image.Resampling.LANCZOS
        )
    for colours in (128, 64, 32, 16):
        file = io.BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).convert("RGB").save(file, "WEBP", lossless=True, method=6)
        if file.tell() <= MOST_BYTES:
            break
    else:
        raise ValueError(f"a picture takes {file.tell()} bytes, of {MOST_BYTES}")
    return file.getvalue()


def index_of(shots: list[Shot]) -> str:
    lines = [f"## {shot.says}\n\n![{shot.says}]({shot.name}.webp)\n" for shot in shots]
    return "\n".join(
        ["# The page, state by state\n", "Taken from the real service by `make page-screenshots`.\n", *lines]
    )


async def main(names: list[str]) -> None:
    """Take the pictures named, or all."""
    expect.set_options(timeout=PATIENCE_MS)
    PICTURES.mkdir(parents=True, exist_ok=True)
    failed = []
    with databases() as make:
        async with services(make) as of, chromium() as browser:
            for shot in SHOTS:
                if names and shot.name not in names:
                    continue
                try:
                    png = await picture_of(shot, browser, of)
                except AssertionError as error:
                    failed.append(str(error))
                    continue
                (PICTURES / f"{shot.name}.webp").write_bytes(small(png, shot.view.scale))
    (PICTURES / "README.md").write_text(index_of(SHOTS), encoding="utf-8")
    together = sum(path.stat().st_size for path in PICTURES.glob("*.webp"))
    if together > MOST_BYTES_TOGETHER:
        failed.append(f"the pictures take {together} bytes together, of {MOST_BYTES_TOGETHER}")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
