"""What is generated and committed for the page is of today's service and of today's sources. Needs no Node."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import httpx
import pytest

from ragcorp.interface.http.system.page_routes import BUILT
from support.page.client import DESCRIPTION, FRONTEND, as_written

RENEW_CLIENT = "`make page-client` renews it"
BUILD = "`make page-build` builds it"
TOOLS = ("index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts")
"""What the build reads besides ``src``."""


def hashes(root: Path, files: Iterable[Path]) -> dict[str, str]:
    return {file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def files_in(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def sources() -> list[Path]:
    """What the page is built from: its own tests are no part of it."""
    return [file for file in files_in(FRONTEND / "src") if ".test." not in file.name]


def differing(found: dict[str, str], noted: dict[str, str]) -> list[str]:
    return sorted(name for name in found.keys() | noted.keys() if found.get(name) != noted.get(name))


@pytest.mark.anyio
async def test_the_client_is_made_from_what_the_service_says(client: httpx.AsyncClient) -> None:
    said = as_written((await client.get("/openapi.json")).json())
    assert DESCRIPTION.read_text(encoding="utf-8") == said, f"openapi.json is of another service: {RENEW_CLIENT}"


def test_the_types_of_the_client_are_made_from_the_description() -> None:
    first = (FRONTEND / "src" / "client" / "schema.d.ts").read_text(encoding="utf-8").splitlines()[0]
    digest = hashlib.sha256(DESCRIPTION.read_bytes()).hexdigest()
    assert digest in first, f"schema.d.ts is of another description: {RENEW_CLIENT}"


@pytest.mark.parametrize("part", ["sources", "files"])
def test_the_built_page_is_made_from_the_sources(part: str) -> None:
    noted = json.loads((BUILT / "manifest.json").read_text(encoding="utf-8"))[part]
    result = {
        "sources": lambda: hashes(FRONTEND, [*(FRONTEND / name for name in TOOLS), *sources()]),
        "files": lambda: hashes(BUILT, (file for file in files_in(BUILT) if file.name != "manifest.json")),
    }[part]()
    assert differing(result, noted) == [], f"the page was built from other sources, or changed since: {BUILD}"
