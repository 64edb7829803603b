"""While vectors are being made, a first rank among the few embedded chunks says little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragcorp.main.wiring.base import Parts
from support.models.embedders import BrokenEmbedder

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("flag", [False, True])
async def test_what_is_found_by_text_stands_before_the_few_that_have_vectors(
    open_rag: Callable[..., Any], flag: bool
) -> None:
    embedder = BrokenEmbedder(queries=False, passages=False)
    rag = await open_rag(enable_hybrid_search=flag, parts=Parts(embedder=embedder))
    await rag.ingest_text("a-ajeno.md", "El comedor abre a las dos.")
    embedder.passages_fail = True
    for number in range(3):
        await rag.ingest_text(f"nota-{number}.md", f"La nota número {number} trata de otra cosa.")
    await rag.ingest_text("z-contrato.md", "Contrato marco con Acme Corporation.")

    response = await rag.search("Acme Corporation", explain=True)

    assert [hit.chunk.external_id for hit in response.hits] == ["z-contrato.md", "a-ajeno.md"]
    assert response.explanation["weights"] == {"dense": 0.2, "full_text": 1.0, "identifiers": 3.0, "all_words": 1.0}
    assert [hit.score for hit in response.hits] == [pytest.approx(2 / 61), pytest.approx(0.2 / 61)]
    assert [(report.source, report.reason) for report in response.degraded] == [("dense", "vectors_pending")]
