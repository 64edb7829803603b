"""A passage is embedded once, however often it is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragcorp.domain.principal import Principal
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio


async def test_equal_passages_cost_one_call(open_rag: Callable[..., Any]) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(embed_wait_seconds=0, parts=Parts(embedder=embedder))
    for number in range(20):
        await rag.ingest_text(f"copia-{number}.md", "El mismo aviso para todos.", title="Aviso")
    assert (await rag.embed_pending()).pending == 0
    assert len(embedder.embedded) == 1
    assert len((await rag.search("aviso", mode="dense", limit=20)).hits) == 20

    await rag.delete("copia-3.md")
    assert (await rag.restore("copia-3.md")).pending == 0
    assert len(embedder.embedded) == 1


async def test_another_workspace_pays_for_its_own(open_rag: Callable[..., Any]) -> None:
    embedder = HashingEmbedder()
    rag = await open_rag(parts=Parts(embedder=embedder))
    other = rag.as_principal(Principal(workspace="otra"))
    await rag.ingest_text("a.md", "El mismo aviso.")
    await other.ingest_text("a.md", "El mismo aviso.")
    assert len(embedder.embedded) == 2
