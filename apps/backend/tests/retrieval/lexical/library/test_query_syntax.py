"""What a query's characters mean: text, unless a web search's operators are asked for; and ADR-012's ranking."""

from __future__ import annotations

import pytest

from ragcorp.domain.exceptions import InvalidInputError
from support.retrieval.corpus import CONTRACTS, OpenRag, degraded, fill, shown

pytestmark = pytest.mark.anyio

TEXTS = {"plazo.md": "plazo entrega", "pago.md": "plazo pago", "aval.md": "aval", "frase.md": "entrega del plazo"}

MEANINGS = (
    # query, what it finds as text, what it finds as a web search
    ("plazo -pago", ["frase.md", "pago.md", "plazo.md"], ["frase.md", "plazo.md"]),
    ("aval or entrega", ["aval.md", "frase.md", "plazo.md"], ["aval.md", "frase.md", "plazo.md"]),
    ('"plazo entrega"', ["frase.md", "pago.md", "plazo.md"], ["plazo.md"]),
    ("plazo/pago", ["frase.md", "pago.md", "plazo.md"], None),
    ("-aval", ["aval.md"], ["frase.md", "pago.md", "plazo.md"]),
)


@pytest.mark.parametrize(("query", "plain", "websearch"), MEANINGS)
async def test_a_dash_or_quotes_and_a_slash_are_text_unless_asked(
    open_rag: OpenRag, query: str, plain: list[str], websearch: list[str] | None
) -> None:
    rag = await open_rag()
    await fill(rag, TEXTS)
    assert sorted(shown(await rag.search(query, mode="sparse"))) == plain
    assert sorted(shown(await rag.search(query, mode="sparse", syntax="plain"))) == plain
    if websearch is not None:
        response = await rag.search(query, mode="sparse", syntax="websearch")
        assert sorted(shown(response)) == websearch
        assert {hit.score_type for hit in response.hits} == {"ts_rank_cd"}


async def test_another_syntax_is_refused_and_a_cursor_belongs_to_its_syntax(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await fill(rag, TEXTS)
    with pytest.raises(InvalidInputError) as caught:
        await rag.search("plazo", syntax="lucene")
    assert caught.value.field == "syntax"
    first = await rag.search("plazo", mode="sparse", limit=1)
    with pytest.raises(InvalidInputError) as caught:
        await rag.search("plazo", mode="sparse", limit=1, syntax="websearch", cursor=first.next_cursor)
    assert caught.value.field == "cursor"


@pytest.mark.parametrize("syntax", ["plain", "websearch"])
async def test_stop_words_alone_are_no_failure_of_full_text(open_rag: OpenRag, syntax: str) -> None:
    rag = await open_rag(enable_hybrid_search=True)
    await fill(rag, CONTRACTS)
    for method in ("rrf", "linear"):
        response = await rag.search("de la que el", syntax=syntax, method=method)
        assert degraded(response) == {}
        assert len(response.hits) == 3
        assert {(r.source, r.outcome) for r in response.reports} == {("dense", "ok"), ("full_text", "empty")}
    alone = await rag.search("de la que el", mode="sparse", syntax=syntax)
    assert (alone.hits, degraded(alone), [r.outcome for r in alone.reports]) == ((), {}, ["empty"])


async def test_accents_stop_words_without_them_and_a_mistyped_word(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await fill(rag, {"penal.md": "La penalización será del dos por ciento.", "otro.md": "Otro asunto: el año fiscal."})
    assert shown(await rag.search("PENALIZACION", mode="sparse")) == ["penal.md"]
    assert shown(await rag.search("cual es cuanto la penalización", mode="sparse")) == ["penal.md"]
    assert shown(await rag.search("cual cuanto dónde", mode="sparse")) == []


@pytest.mark.parametrize(
    ("operator", "found"), [("and", ["largo.md"]), ("or", ["largo.md", "corto.md"])], ids=["and", "or"]
)
async def test_adr_012s_ranking_is_there_with_both_operators(
    open_rag: OpenRag, operator: str, found: list[str]
) -> None:
    rag = await open_rag(enable_hybrid_search=True, sparse_ranking="ts_rank_cd", sparse_operator=operator)
    await fill(rag, {"corto.md": "El plazo corre.", "largo.md": "El plazo de entrega corre.", "menu.md": "El menú."})
    sparse = await rag.search("plazo entrega", mode="sparse")
    assert shown(sparse) == found
    assert {hit.score_type for hit in sparse.hits} == {"ts_rank_cd"}
    for method in ("rrf", "linear"):
        fused = await rag.search("plazo entrega", method=method, explain=True)
        assert shown(fused)[0] == "largo.md"
        assert fused.explanation is not None
        # its scores are no shares of evidence: no threshold applies
        assert fused.explanation["thresholds"] == []
        assert {part.source for hit in fused.hits for part in hit.sources} == {"dense", "full_text"}


@pytest.mark.parametrize("method", ["rrf", "linear"])
async def test_a_web_searchs_operators_are_conditions_on_every_list(open_rag: OpenRag, method: str) -> None:
    rag = await open_rag(enable_hybrid_search=True, fusion_method=method)
    await fill(
        rag,
        {
            "muelle.md": "La recepción de la caldera se hace en el muelle.",
            "garantia.md": "Recepción de la caldera: garantía, garantía del fabricante.",
        },
    )
    assert shown(await rag.search("recepción caldera -garantía", syntax="websearch")) == ["muelle.md"]
    assert shown(await rag.search('"garantía del fabricante"', syntax="websearch")) == ["garantia.md"]
    assert len(shown(await rag.search("recepción caldera -garantía"))) == 2


async def test_a_word_that_is_typed_right_and_wrong_counts_in_full(open_rag: OpenRag) -> None:
    rag = await open_rag()
    await fill(rag, {"a.md": "El contrato vence.", "b.md": "Otra cosa."})
    await rag.search("contrato")
    for query in ("contrto contrato", "contrato contrto"):
        response = await rag.search(query, mode="sparse", explain=True)
        assert response.explanation is not None
        (notes,) = response.explanation["sources"]  # type: ignore[misc]
        assert [(term["lexeme"], term["similarity"]) for term in notes["terms"] if term["lexeme"] == "contrat"] == [
            ("contrat", 1.0)
        ]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"query": None}, "query"),
        ({"query": 5}, "query"),
        ({"query": "plazo", "limit": "5"}, "limit"),
        ({"query": "plazo", "limit": 5.0}, "limit"),
        ({"query": "plazo", "cursor": 5}, "cursor"),
        ({"query": "plazo", "weights": [1]}, "fusion.weights"),
        ({"query": "plazo", "weights": {"dense": "1"}}, "fusion.weights.dense"),
        ({"query": "plazo", "rank_constant": 1.5}, "fusion.rank_constant"),
        ({"query": "plazo", "rank_window_size": True}, "fusion.rank_window_size"),
        ({"query": "plazo", "filters": [1]}, "filters"),
    ],
)
async def test_a_value_of_another_type_is_refused_with_field_limit_and_remedy(
    open_rag: OpenRag, arguments: dict[str, object], field: str
) -> None:
    rag = await open_rag()
    with pytest.raises(InvalidInputError) as caught:
        await rag.search(**arguments)
    assert (caught.value.field, bool(caught.value.limit), bool(caught.value.remedy)) == (field, True, True)
