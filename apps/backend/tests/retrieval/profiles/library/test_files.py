"""The specification's hybrid search, end to end: vectors and grep over real files, by profile `files`."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.search.requests import SearchHit, SearchResponse
from ragcorp.interface.library.rag import Rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import BrokenEmbedder
from support.retrieval.corpus import GivenVectors, OpenRag, degraded, shown
from support.storage.stored import towards

pytestmark = pytest.mark.anyio

TREE = {
    "contratos/marco.md": "# Contrato marco\n\nEl plazo de entrega es de treinta días, expediente REQ-2026-014.\n",
    "src/iva.py": "def calcular_total(base):\n    return base * TIPO_IVA\n",
    "notas.txt": "La caldera del sótano se revisa en octubre.\n",
}


HALF: Vector = (0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0)
"""Of length 1 and at cosine .5 from every query, exactly, also as 32-bit floats."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "empresa"
    for name, text in TREE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


async def opened(open_rag: OpenRag, tree: Path | None, cosines: dict[str, float], **settings: object) -> Rag:
    vectors = {word: HALF if cosine == 0.5 else towards(cosine) for word, cosine in cosines.items()}
    paths = {} if tree is None else {"allowed_paths": str(tree)}
    rag: Rag = await open_rag(parts=Parts(embedder=GivenVectors(vectors)), **paths, **settings)
    return rag


async def store(rag: Rag, *names: str) -> None:
    for name in names:
        await rag.ingest_text(name, TREE[name])
    await rag.embed_pending()


def by_source(hit: SearchHit) -> dict[str, tuple[int, float]]:
    return {part.source: (part.rank, part.value) for part in hit.sources}


def places(response: SearchResponse) -> list[tuple[str | None, str]]:
    return [(hit.chunk.source_path, hit.chunk.collection) for hit in response.hits]


async def test_keywords_alone_ask_the_files(open_rag: OpenRag, tree: Path) -> None:
    rag = await opened(open_rag, tree, {"REQ-2026-014": 0.9}, enable_hybrid_search=True)
    await store(rag, "contratos/marco.md")
    named = await rag.search("¿cuándo entregan?", exact_keywords="calcular_total", profile="files")
    asked = await rag.search("¿cuándo entregan?", exact_keywords="calcular_total")
    assert shown(asked) == shown(named)
    assert ("empresa/src/iva.py", "files") in places(asked)
    missing = await rag.search("¿cuándo entregan?", exact_keywords=" \u200b")
    assert {report.source for report in missing.reports} == {"dense", "full_text"}


@pytest.mark.parametrize(
    "chosen", [{"mode": "hybrid"}, {"mode": "dense"}, {"profile": "vectors"}, {"profile": "memory"}]
)
async def test_keywords_are_refused_where_no_file_is_asked(
    open_rag: OpenRag, tree: Path, chosen: dict[str, str]
) -> None:
    rag = await opened(open_rag, tree, {})
    with pytest.raises(InvalidInputError) as refused:
        await rag.search("plazo", exact_keywords="canario", **chosen)
    assert (refused.value.field, refused.value.limit) == ("exact_keywords", "profiles files and grep")
    assert "canario" not in str(refused.value)
    assert not (await rag.search("plazo", exact_keywords="", **chosen)).hits


async def test_when_both_find_it_their_ranks_add_up(open_rag: OpenRag, tree: Path) -> None:
    rag = await opened(open_rag, tree, {"REQ-2026-014": 0.9, "caldera": 0.95})
    await store(rag, "contratos/marco.md", "notas.txt")
    response = await rag.hybrid_search("¿cuándo entregan?", exact_keywords="REQ-2026-014")
    assert not response.degraded
    first, second = response.hits
    assert first.chunk.external_id == "contratos/marco.md"
    assert by_source(first) == {"dense": (2, 1 / 62), "grep": (1, 1 / 61)}
    assert first.score == math.fsum([1 / 62, 1 / 61])
    assert first.score_type == "rrf"
    assert first.matched_lines == (3,)
    assert first.collections == ("artifact_chunks", "files")
    assert by_source(second) == {"dense": (1, 1 / 61)}


async def test_when_grep_finds_nothing_the_vectors_keep_their_order(open_rag: OpenRag, tree: Path) -> None:
    rag = await opened(open_rag, tree, {"REQ-2026-014": 0.8, "caldera": 0.9})
    await store(rag, "contratos/marco.md", "notas.txt")
    response = await rag.hybrid_search("entregas", exact_keywords="zzz-no-existe")
    assert shown(response) == ["notas.txt", "contratos/marco.md"]
    assert not response.degraded


async def test_when_the_vectors_find_nothing_grep_keeps_its_order(open_rag: OpenRag, tree: Path) -> None:
    rag = await opened(open_rag, tree, {})
    response = await rag.hybrid_search("¿dónde se calcula?", exact_keywords="calcular_total")
    assert places(response) == [("empresa/src/iva.py", "files")]
    (hit,) = response.hits
    assert (hit.chunk.line_start, hit.chunk.line_end, hit.matched_lines) == (1, 2, (1,))
    assert hit.chunk.content == "def calcular_total(base):\n    return base * TIPO_IVA"


async def test_when_neither_finds_anything_the_result_is_empty(open_rag: OpenRag, tree: Path) -> None:
    rag = await opened(open_rag, tree, {})
    response = await rag.hybrid_search("nada", exact_keywords="zzz-no-existe")
    assert (response.hits, response.degraded) == ((), ())


@pytest.mark.parametrize("keywords", [None, "", "  ", "¿Dónde está calcular_total?", "¿dónde  está CALCULAR_TOTAL?"])
async def test_without_keywords_of_their_own_terms_come_from_the_question(
    open_rag: OpenRag, tree: Path, keywords: str | None
) -> None:
    rag = await opened(open_rag, tree, {})
    response = await rag.hybrid_search("¿Dónde está calcular_total?", exact_keywords=keywords)
    assert places(response) == [("empresa/src/iva.py", "files")]


async def test_at_most_ten_unless_asked_for_more(open_rag: OpenRag, tmp_path: Path) -> None:
    root = tmp_path / "muchos"
    root.mkdir()
    for number in range(15):
        (root / f"f{number:02}.txt").write_text("expediente", encoding="utf-8")
    rag = await opened(open_rag, root, {})
    assert len((await rag.hybrid_search("q", exact_keywords="expediente")).hits) == 10
    assert len((await rag.hybrid_search("q", exact_keywords="expediente", limit=15)).hits) == 15


@pytest.mark.parametrize(("cosine", "kept"), [(0.51, True), (0.5, False), (0.49, False)])
async def test_a_vector_hit_from_the_threshold_on_is_discarded(open_rag: OpenRag, cosine: float, kept: bool) -> None:
    rag = await opened(open_rag, None, {"caldera": cosine})
    await store(rag, "notas.txt")
    response = await rag.search("algo", profile="vectors")
    assert shown(response) == (["notas.txt"] if kept else [])


async def test_the_threshold_comes_from_request_then_setting(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, None, {"caldera": 0.7}, vector_score_threshold=0.2)
    await store(rag, "notas.txt")
    assert shown(await rag.search("algo", profile="vectors")) == []
    assert shown(await rag.search("algo", profile="vectors", vector_score_threshold=0.31)) == ["notas.txt"]
    assert shown(await rag.search("algo", mode="dense")) == ["notas.txt"]
    assert shown(await rag.search("algo", mode="dense", vector_score_threshold=0.29)) == []
    with pytest.raises(InvalidInputError, match="vector_score_threshold"):
        await rag.search("algo", vector_score_threshold=2.5)


async def test_an_explanation_names_the_distance_and_its_metric(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, None, {"caldera": 0.7})
    await store(rag, "notas.txt")
    response = await rag.search("algo", profile="vectors", explain=True)
    assert response.explanation is not None
    assert {"source": "dense", "score_type": "cosine_distance", "below": 0.5} in response.explanation["thresholds"]  # type: ignore[operator]


async def test_without_roots_the_vectors_answer_and_grep_is_named(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, None, {"caldera": 0.9})
    await store(rag, "notas.txt")
    response = await rag.hybrid_search("algo", exact_keywords="caldera")
    assert shown(response) == ["notas.txt"]
    assert degraded(response) == {"grep": "not_configured"}


async def test_a_profile_of_which_nothing_is_set_up_is_refused(open_rag: OpenRag) -> None:
    rag = await opened(open_rag, None, {})
    with pytest.raises(InvalidInputError) as caught:
        await rag.search("algo", profile="grep")
    assert (caught.value.field, "ALLOWED_PATHS" in str(caught.value)) == ("profile", True)


async def test_without_an_embedder_grep_and_full_text_answer(open_rag: OpenRag, tree: Path) -> None:
    rag = await open_rag(parts=Parts(embedder=BrokenEmbedder()), allowed_paths=str(tree))
    await rag.ingest_text("notas.txt", TREE["notas.txt"])
    response = await rag.hybrid_search("¿Qué pasa con la caldera?", exact_keywords="calcular_total")
    assert degraded(response) == {"dense": "unreachable"}
    assert ("empresa/src/iva.py", "files") in places(response)
    assert "notas.txt" in shown(response)


async def test_pages_are_slices_of_one_ranking(open_rag: OpenRag, tmp_path: Path) -> None:
    root = tmp_path / "muchos"
    root.mkdir()
    for number in range(12):
        (root / f"f{number:02}.txt").write_text("expediente\n" * (number + 1), encoding="utf-8")
    rag = await opened(open_rag, root, {})
    whole = await rag.hybrid_search("q", exact_keywords="expediente", limit=12)
    first = await rag.search("q", profile="files", exact_keywords="expediente", limit=5)
    second = await rag.search("q", profile="files", exact_keywords="expediente", limit=7, cursor=first.next_cursor)
    assert places(first) + places(second) == places(whole)
    with pytest.raises(InvalidInputError, match="cursor"):
        await rag.search("q", profile="files", exact_keywords="otra cosa", cursor=first.next_cursor)


async def test_memories_join_where_asked_for(open_rag: OpenRag, tree: Path) -> None:
    rag = await opened(open_rag, tree, {"Marta": 0.9})
    await rag.memory.add("Marta lleva el contrato marco.")
    await rag.embed_pending()
    response = await rag.hybrid_search("¿quién?", exact_keywords="calcular_total", include_memory=True)
    assert {hit.chunk.collection for hit in response.hits} == {"memory", "files"}


async def test_files_are_for_those_who_may_read_the_roots(open_rag: OpenRag, tree: Path) -> None:
    rag = await opened(open_rag, tree, {}, files_sensitivity="confidential")
    outsider = rag.as_principal(Principal(workspace="otra"))
    low = rag.as_principal(Principal(clearance=Sensitivity.NORMAL))
    for reader in (outsider, low):
        response = await reader.hybrid_search("q", exact_keywords="calcular_total")
        assert (response.hits, degraded(response)) == ((), {})
    assert (await rag.hybrid_search("q", exact_keywords="calcular_total")).hits


async def test_an_answer_cites_the_file_and_its_lines(open_rag: OpenRag, tree: Path) -> None:
    rag = await opened(open_rag, tree, {})
    answer = await rag.ask("¿Cuándo se revisa la caldera del sótano?", profile="files")
    assert not answer.abstained
    (citation,) = answer.citations
    assert (citation.path, citation.line_start, citation.line_end) == ("empresa/notas.txt", 1, 1)
    assert "octubre" in citation.quote


async def test_what_was_looked_for_literally_is_marked_where_it_was_found(open_rag: OpenRag, tree: Path) -> None:
    rag = await opened(open_rag, tree, {"caldera": 0.9})
    await store(rag, "notas.txt")
    response = await rag.search(
        "¿cuándo entregan?", exact_keywords="lcular_tot", highlight=True, explain=True, facets=True
    )
    marks = {
        hit.chunk.source_path: [hit.chunk.content[mark.start : mark.end] for mark in hit.highlights or ()]
        for hit in response.hits
    }
    assert marks == {"empresa/src/iva.py": ["lcular_tot"], "notas.txt": []}
    assert all(hit.steps["describe"]["rank_after"] for hit in response.hits)
