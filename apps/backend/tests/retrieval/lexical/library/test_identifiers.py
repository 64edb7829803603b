"""An exact identifier comes first, and what merely looks like it never above it."""

from __future__ import annotations

import pytest

from ragcorp.main.wiring.base import Parts
from support.retrieval.corpus import GivenVectors, OpenRag, fill, shown
from support.storage.stored import towards

pytestmark = pytest.mark.anyio

EXACT, ALIKE = "REQ-2024-001", "REQ-2024-010"
QUERIES = (EXACT, EXACT.lower(), "REQ 2024 001", f"¿Qué dice el expediente {EXACT} del plazo?", f"estado de {EXACT}")


@pytest.mark.parametrize("method", ["rrf", "linear"])
@pytest.mark.parametrize("query", QUERIES)
async def test_the_exact_one_is_first_though_its_look_alike_is_nearer(
    open_rag: OpenRag, method: str, query: str
) -> None:
    embedder = GivenVectors({ALIKE: towards(0.87), EXACT: towards(0.85), "menú": towards(0.86)})
    rag = await open_rag(enable_hybrid_search=True, fusion_method=method, parts=Parts(embedder=embedder))
    await fill(
        rag,
        {
            "alike.md": f"El expediente {ALIKE} trata del plazo.",
            "exact.md": f"El expediente {EXACT} trata del plazo.",
            "menu.md": "El menú del comedor.",
        },
    )
    assert shown(await rag.search(query))[0] == "exact.md"
    assert shown(await rag.search(query, mode="sparse"))[0] == "exact.md"


@pytest.mark.parametrize("method", ["rrf", "linear"])
async def test_thirty_look_alikes_stay_below(open_rag: OpenRag, method: str) -> None:
    codes = [f"REQ-2024-{number:03}" for number in range(10, 40)]
    vectors = {code: towards(0.87 - place / 1000) for place, code in enumerate(codes)}
    embedder = GivenVectors(vectors | {EXACT: towards(0.85)})
    rag = await open_rag(enable_hybrid_search=True, fusion_method=method, parts=Parts(embedder=embedder))
    await fill(rag, {f"{code}.md": f"El expediente {code} trata del plazo y de la entrega." for code in codes})
    # the exact one is the longest, and speaks of other things too
    await rag.ingest_text(
        f"{EXACT}.md", f"El expediente {EXACT} trata del plazo. " + "Otra cláusula del contrato. " * 15
    )
    for query in QUERIES:
        assert shown(await rag.search(query, limit=50))[0] == f"{EXACT}.md", query


@pytest.mark.parametrize("method", ["rrf", "linear"])
async def test_each_of_two_identifiers_comes_before_the_others(open_rag: OpenRag, method: str) -> None:
    codes = [f"REQ-2024-{number:03}" for number in range(1, 21)]
    embedder = GivenVectors({code: towards(0.80 + place / 400) for place, code in enumerate(codes)})
    rag = await open_rag(enable_hybrid_search=True, fusion_method=method, parts=Parts(embedder=embedder))
    await fill(rag, {f"{code}.md": f"El expediente {code} vence." for code in codes})
    results = shown(await rag.search("REQ-2024-003 y REQ-2024-007", limit=50))
    assert sorted(results[:2]) == ["REQ-2024-003.md", "REQ-2024-007.md"]


@pytest.mark.parametrize("method", ["rrf", "linear"])
async def test_words_of_the_question_in_a_look_alike_do_not_lift_it_above(open_rag: OpenRag, method: str) -> None:
    """The look-alike is nearer, and holds every word of the question but the code."""
    embedder = GivenVectors({ALIKE: towards(0.87), EXACT: towards(0.84), "menú": towards(0.8)})
    rag = await open_rag(enable_hybrid_search=True, fusion_method=method, parts=Parts(embedder=embedder))
    others = {f"otro-{n}.md": f"El menú {n} del comedor cambia cada semana." for n in range(10)}
    await fill(
        rag,
        {
            "alike.md": f"El plazo de entrega y la multa del expediente {ALIKE}.",
            "exact.md": f"{EXACT}: aprobado.",
            **others,
        },
    )
    response = await rag.search(f"¿Cuál es el plazo de entrega y la multa de {EXACT}?", limit=50)
    assert shown(response)[0] == "exact.md"


@pytest.mark.parametrize("query", ["KRQ-2031-007", "krq 2031 007", "el requisito KRQ-2031-007"])
async def test_by_words_alone_a_long_text_with_the_code_stands_before_short_look_alikes(
    open_rag: OpenRag, query: str
) -> None:
    rag = await open_rag(parts=Parts(embedder=None))
    short = {f"KRQ-2031-0{number}.md": f"KRQ-2031-0{number} KRQ-2031 krq 2031 007" for number in range(10, 22)}
    await fill(rag, short | {"exact.md": "El requisito trata de otra cosa. " * 30 + "Cubre KRQ-2031-007 y cierra."})
    for mode in ("sparse", "hybrid"):
        assert shown(await rag.search(query, mode=mode))[0] == "exact.md", mode


@pytest.mark.parametrize("method", ["rrf", "linear"])
async def test_what_was_typed_stands_before_its_other_writings(open_rag: OpenRag, method: str) -> None:
    embedder = GivenVectors({"1234": towards(0.87), "12,34": towards(0.84)})
    rag = await open_rag(enable_hybrid_search=True, fusion_method=method, parts=Parts(embedder=embedder))
    await fill(rag, {"coma.md": "Se pagan 12,34 pesos.", "junto.md": "Se pagan 1234 pesos."})
    assert shown(await rag.search("pagar 12,34 pesos")) == ["coma.md", "junto.md"]


@pytest.mark.parametrize("method", ["rrf", "linear"])
async def test_no_look_alike_that_fits_the_words_better_stands_above_it(open_rag: OpenRag, method: str) -> None:
    codes = [f"REQ-2024-{number:03}" for number in range(100, 130)]
    embedder = GivenVectors({code: towards(0.95) for code in codes} | {EXACT: towards(0.3)})
    rag = await open_rag(enable_hybrid_search=True, fusion_method=method, parts=Parts(embedder=embedder))
    texts = {f"{code}.md": f"El requisito {code} define el plazo de entrega y la multa por demora." for code in codes}
    await fill(rag, texts | {"exact.md": f"Asunto {EXACT}: se guarda en el archivo."})
    query = f"¿Cuál es el plazo de entrega y la multa por demora del requisito {EXACT}?"
    assert shown(await rag.search(query))[0] == "exact.md"


async def test_a_code_that_many_chunks_hold_names_none_of_them(open_rag: OpenRag) -> None:
    rag = await open_rag(enable_hybrid_search=True)
    await fill(rag, {f"{number}.md": f"Atención 24/7, sede {number}." for number in range(21)})
    response = await rag.search("atención 24/7", explain=True)
    assert {part.source for hit in response.hits for part in hit.sources} <= {"dense", "full_text", "all_words"}
