"""The wheel carries all that a machine without a checkout needs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[5]
BACKEND = ROOT / "apps" / "backend"
PAGE = BACKEND / "ragcorp" / "interface" / "http" / "page"


def built(kind: str, folder: Path) -> Path:
    made = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    (archive,) = folder.iterdir()
    return archive


def files_of_the_page() -> set[str]:
    page = {path.relative_to(BACKEND).as_posix() for path in PAGE.rglob("*") if path.is_file()}
    assert {Path(name).suffix for name in page} >= {".html", ".js", ".css"}
    return page


def test_the_wheel_holds_migrations_demo_corpus_and_page(tmp_path: Path) -> None:
    carried = set(zipfile.ZipFile(built("wheel", tmp_path)).namelist())
    migrations = {
        f"ragcorp/_alembic/{path.relative_to(BACKEND / 'alembic')}" for path in BACKEND.glob("alembic/**/*.py")
    }
    corpus = {
        path.relative_to(BACKEND).as_posix() for path in BACKEND.glob("ragcorp/demo_corpus/**/*") if path.is_file()
    }
    assert len(migrations) >= 4
    assert len(corpus) >= 40
    assert {
        "ragcorp/py.typed",
        "ragcorp/_alembic/script.py.mako",
    } | migrations | corpus | files_of_the_page() <= carried
    own = {name for name in carried if not name.startswith("ragcorp/testing/")}  # the suites for authors of sources
    assert not [name for name in own if "test" in name or name.startswith("benchmarks")]


def test_the_source_archive_holds_the_page_as_built(tmp_path: Path) -> None:
    with tarfile.open(built("sdist", tmp_path)) as archive:
        carried = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"apps/backend/{name}" for name in files_of_the_page()} <= carried
