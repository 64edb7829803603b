"""The terminal UI over PostgreSQL, files and ripgrep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragcorp.domain.principal import Principal
from ragcorp.interface.tui.app import RagTui
from ragcorp.interface.tui.ask_screen import AskScreen
from ragcorp.interface.tui.viewer_screen import ViewerScreen
from ragcorp.main.commands.tui import tui_services
from ragcorp.main.opening.library import make_rag
from support.tui.driving import found, pointed, put, rows, running, screen, sees, shown, status, until

pytestmark = pytest.mark.anyio

CONTRACT = """# Contrato marco

## Partes

El presente contrato se celebra con Talleres Núñez.

## Plazos

El plazo de entrega es de 30 días hábiles desde la firma del pedido REQ-2026-014.
El pago se hace a 60 días.
"""
CODE = """from decimal import Decimal


def calcular_total(base: Decimal, iva: Decimal) -> Decimal:
    return base * (1 + iva)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "empresa"
    (root / "contratos").mkdir(parents=True)
    (root / "contratos" / "marco.md").write_text(CONTRACT, encoding="utf-8")
    (root / "totales.py").write_text(CODE, encoding="utf-8")
    return root


@pytest.fixture
async def make_app(make_container: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """The app over a database that holds the contract; the code is a file alone."""

    async def made(profile: str | None = None) -> RagTui:
        container = await make_container(allowed_paths=f"docs={folder}", enable_hybrid_search=True)
        await make_rag(container).ingest_text("docs/contratos/marco.md", CONTRACT)
        services = tui_services(container, profile)
        assert services.principal == Principal()
        return RagTui(services)

    return made


async def test_search_in_documents_and_files_and_read_at_the_line(make_app: Callable[..., Any], folder: Path) -> None:
    async with running(await make_app()) as pilot:
        await sees(pilot, "[files]")
        await found(pilot, "plazo REQ-2026-014")
        await until(pilot, lambda: "docs/contratos/marco.md" in rows(pilot)[0])
        await until(pilot, lambda: "grep #1" in "".join(shown(pilot)))
        await until(pilot, lambda: 9 in pointed(pilot))
        assert status(pilot).startswith("hybrid_search: ")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ViewerScreen) and "of 10" in status(pilot))
        await until(pilot, lambda: shown(pilot) == CONTRACT.removesuffix("\n").split("\n"))
        await until(pilot, lambda: 9 in pointed(pilot))
        assert str(folder) not in screen(pilot)


async def test_a_file_that_is_no_document_is_found_literally(make_app: Callable[..., Any]) -> None:
    async with running(await make_app("grep")) as pilot:
        await found(pilot, "calcular_total")
        assert status(pilot).startswith("grep_search: 1 passage in 1 file, ")
        await until(pilot, lambda: "docs/totales.py:1-5" in rows(pilot)[0])
        await until(pilot, lambda: pointed(pilot) == [4])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ViewerScreen) and "of 5" in status(pilot))
        await until(pilot, lambda: pointed(pilot) == [4])


async def test_a_query_that_is_too_long_is_refused_with_its_limit(make_app: Callable[..., Any]) -> None:
    async with running(await make_app()) as pilot:
        put(pilot, "palabra " * 251)
        await until(pilot, lambda: "at most 2,000 characters" in status(pilot))


async def test_ask_and_open_what_is_cited(make_app: Callable[..., Any]) -> None:
    async with running(await make_app("hybrid")) as pilot:
        await pilot.press("ctrl+a")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskScreen) and pilot.app.focused is not None)
        put(pilot, "¿Cuál es el plazo de entrega?")
        await pilot.press("enter")
        await until(pilot, lambda: "Answered from 1 source" in status(pilot))
        await sees(pilot, "El plazo de entrega es de 30 días hábiles")
        await until(pilot, lambda: "[1] docs/contratos/marco.md:9" in rows(pilot)[0])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ViewerScreen) and "of 10" in status(pilot))
        await until(pilot, lambda: pointed(pilot) == [9])
        await pilot.press("escape")
        put(pilot, "¿Quién pilota la nave espacial?")
        await pilot.press("enter")
        await until(pilot, lambda: status(pilot).startswith("No answer"))


async def test_a_real_database_that_dies_and_comes_back(
    make_app: Callable[..., Any], postgres_server: Any, database_name: str
) -> None:
    async with running(await make_app()) as pilot:
        await found(pilot, "plazo")
        with postgres_server.superuser() as connection:
            connection.execute(f'ALTER DATABASE "{database_name}" ALLOW_CONNECTIONS false')
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (database_name,)
            )
        put(pilot, "plazos de entrega")
        await until(pilot, lambda: "searches again" in status(pilot), seconds=60)
        for secret in (database_name, "SELECT", "password"):
            assert secret not in screen(pilot)
        with postgres_server.superuser() as connection:
            connection.execute(f'ALTER DATABASE "{database_name}" ALLOW_CONNECTIONS true')
        for _ in range(20):
            await pilot.press("ctrl+r")
            await until(pilot, lambda: "Searching" not in status(pilot), seconds=60)
            if "chunk" in status(pilot):
                break
        await until(pilot, lambda: "docs/contratos/marco.md" in rows(pilot)[0])
