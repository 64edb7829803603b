"""The wheel carries all that a machine without a checkout needs."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
BACKEND = ROOT / "apps" / "backend"


def test_the_wheel_holds_migrations_and_demo_corpus(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    carried = set(zipfile.ZipFile(wheel).namelist())
    migrations = {
        f"ragcorp/_alembic/{path.relative_to(BACKEND / 'alembic')}" for path in BACKEND.glob("alembic/**/*.py")
    }
    corpus = {
        path.relative_to(BACKEND).as_posix() for path in BACKEND.glob("ragcorp/demo_corpus/**/*") if path.is_file()
    }
    assert len(migrations) >= 4
    assert len(corpus) >= 40
    assert {"ragcorp/py.typed", "ragcorp/_alembic/script.py.mako"} | migrations | corpus <= carried
    assert not [name for name in carried if "test" in name or name.startswith("benchmarks")]
