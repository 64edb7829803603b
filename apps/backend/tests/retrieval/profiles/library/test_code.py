"""Profile `code`: what a query names is a list of its own, fused by rank with the others."""

from __future__ import annotations

import pytest

from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.search.requests import SearchHit
from ragcorp.interface.library.rag import Rag
from support.retrieval.corpus import OpenRag, shown

pytestmark = pytest.mark.anyio

TEXTS = {
    "src/auth.go": "package auth\n\nfunc ValidateToken(token string) error {\n\treturn check(token)\n}\n",
    "src/pay.go": "package pay\n\nfunc ChargeCard(card string) error {\n\treturn send(card)\n}\n",
    "contratos/acme.md": "# Contrato con Acme\n\nCLÁUSULA PRIMERA. Objeto\n\nEl objeto es el suministro.\n\n"
    "CLÁUSULA SEGUNDA. Precio\n\nEl precio es de 100 euros.\n",
    "notas.md": "# Notas\n\nDe un token se habla en muchas notas: token, token, token.\n",
}


@pytest.fixture
async def rag(open_rag: OpenRag) -> Rag:
    opened = await open_rag()
    for name, text in TEXTS.items():
        await opened.ingest_text(name, text)
    await opened.embed_pending()
    return opened


def anchored(hit: SearchHit) -> tuple[int, float, str] | None:
    return next((((s.rank, s.score, s.score_type)) for s in hit.sources if s.source == "structure"), None)


@pytest.mark.parametrize(
    ("query", "name", "score"),
    [
        ("¿Qué hace la función validate_token con el token de las notas?", "src/auth.go", 0.9),
        ("algo de las notas en pay.go", "src/pay.go", 1.0),
        ("¿Qué dice la cláusula segunda de acme.md de las notas?", "contratos/acme.md", 1.0),
    ],
)
async def test_what_the_query_names_comes_first_and_says_so(rag: Rag, query: str, name: str, score: float) -> None:
    response = await rag.search(query, profile="code")
    assert shown(response)[0] == name
    assert anchored(response.hits[0]) == (1, score, "anchor")
    (weight,) = [item.weight for item in response.hits[0].sources if item.source == "structure"]
    assert weight == 3.0


async def test_a_query_that_names_nothing_is_hybrid_search(rag: Rag) -> None:
    query = "¿cuánto cuesta el suministro?"
    code, hybrid = await rag.search(query, profile="code"), await rag.search(query, mode="hybrid")
    assert [(hit.chunk.id, hit.score) for hit in code.hits] == [(hit.chunk.id, hit.score) for hit in hybrid.hits]
    assert {anchored(hit) for hit in code.hits} == {None}


async def test_filters_and_readers_narrow_what_is_named(rag: Rag) -> None:
    query = "¿Qué hace ValidateToken?"
    elsewhere = await rag.search(query, profile="code", filters={"external_id": "notas.md"})
    assert shown(elsewhere) == ["notas.md"]
    other = rag.as_principal(Principal(workspace="otra"))
    assert (await other.search(query, profile="code")).hits == ()
    public = rag.as_principal(Principal(clearance=Sensitivity.PUBLIC))
    assert (await public.search(query, profile="code")).hits == ()


async def test_what_is_switched_off_for_hydration_is_switched_off_here(open_rag: OpenRag) -> None:
    rag = await open_rag(enable_symbol_mention_anchors=False)
    await rag.ingest_text("src/auth.go", TEXTS["src/auth.go"])
    await rag.embed_pending()
    response = await rag.search("¿Qué hace ValidateToken?", profile="code")
    assert [anchored(hit) for hit in response.hits] == [None]
