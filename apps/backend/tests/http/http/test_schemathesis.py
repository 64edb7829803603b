"""Schemathesis against the service's own description, with all its checks, over a socket and a real database.

The phase `coverage` (every boundary of every field, alone and in pairs, some 17,000 requests) and the full counts are
for `make soak`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from ragcorp.application.keys.create import CreateKey, KeyRequest
from ragcorp.domain.keys import EVERY_SCOPE
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container
from ragcorp.main.wiring.keys import make_digests, utc_now
from support.http.serving import serving
from support.models.embedders import HashingEmbedder

HERE = Path(__file__).parent / "schemathesis"


async def credential_of_every_scope(container: Container) -> str:
    store = PostgresKeyStore(database=container.database)
    digests = make_digests(container.settings, store)
    create = CreateKey(store=store, digests=digests, random=os.urandom, now=utc_now)
    made = await create.create(KeyRequest(scopes=EVERY_SCOPE, workspace="default"))
    return made.credential


async def problems_of(make_container: Callable[..., Any], folder: Path, *, phases: str, examples: int) -> str:
    """Run the tool; return what it found, nothing where it found nothing."""
    container = await make_container(
        parts=Parts(embedder=HashingEmbedder()), enable_hybrid_search=True, rate_limit_per_minute=0
    )
    credential = await credential_of_every_scope(container)
    async with run_service(container) as app, serving(app) as url:
        tool = Path(sys.executable).with_name("schemathesis")
        done = await anyio.run_process(
            [
                str(tool),
                f"--config-file={HERE / 'schemathesis.toml'}",
                "run",
                f"{url}/openapi.json",
                f"--header=Authorization: Bearer {credential}",
                f"--phases={phases}",
                f"--max-examples={examples}",
                "--continue-on-failure",
                "--generation-deterministic",
                "--warnings=off",
                "--no-color",
            ],
            check=False,
            cwd=folder,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE)},
        )
    return "" if done.returncode == 0 else done.stdout.decode() + done.stderr.decode()


@pytest.mark.anyio
async def test_no_request_breaks_the_description(make_container: Callable[..., Any], tmp_path: Path) -> None:
    result = await problems_of(make_container, tmp_path, phases="examples,fuzzing,stateful", examples=8)
    assert not result, result


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.anyio
async def test_no_request_of_many_breaks_the_description(make_container: Callable[..., Any], tmp_path: Path) -> None:
    result = await problems_of(make_container, tmp_path, phases="examples,coverage,fuzzing,stateful", examples=200)
    assert not result, result
