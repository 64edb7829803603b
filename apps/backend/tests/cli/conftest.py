"""The command line over a migrated database without a model, and over an embedded data folder of its own."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.command_line import Done, run_here

CONTRACT = """# Contrato marco

## Partes

El presente contrato se celebra con Acme Corporation, en adelante el cliente.

## Entrega

El plazo de entrega es de 30 días hábiles desde la firma del pedido REQ-2026-014.
"""
POLICY = "# Política de viajes\n\nEl importe máximo por noche de hotel es de 95,00 €.\n"


@pytest.fixture(autouse=True)
def quiet_logging() -> Iterator[None]:
    """A command sets logging up for its process: take that back."""
    root = logging.getLogger()
    before = root.level, list(root.handlers), logging.getLogger("ragcorp").level
    yield
    root.setLevel(before[0])
    root.handlers[:] = before[1]
    logging.getLogger("ragcorp").setLevel(before[2])


@pytest.fixture
def ragcorp(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Run a command over the test's database; text alone is searched."""
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("EMBEDDING_PROVIDER", "none")
    return run_here


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two documents, and a PDF that is none."""
    root = tmp_path / "documentos"
    (root / "contratos").mkdir(parents=True)
    (root / "contratos" / "marco.md").write_text(CONTRACT, encoding="utf-8")
    (root / "viajes.txt").write_text(POLICY, encoding="utf-8")
    return root


@pytest.fixture
def filled(ragcorp: Callable[..., Done], folder: Path) -> Callable[..., Done]:
    """Run a command over a database that holds the two documents."""
    assert ragcorp("ingest", str(folder), "--metadata", "year=2026").code == 0
    return ragcorp


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """A place for a data folder that the server's user can reach, also where the tests run as root."""
    place = Path(tempfile.mkdtemp(prefix="ragcorp-cli-"))
    place.chmod(0o755)
    yield place / "data"
    shutil.rmtree(place, ignore_errors=True)
