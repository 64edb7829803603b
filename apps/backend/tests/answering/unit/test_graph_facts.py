"""Facts of the graph answer as the sentences that they are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from answering.unit.test_spoken import Memories, Said

from ragcorp.infrastructure.extractive.statements import Fact, fact_of

pytestmark = pytest.mark.anyio


def fact(subject: str, predicate: str, other: str) -> Said:
    return Said(text=f"{subject} -> {other}: {predicate}", collection="graph", entities=(subject, other))


GRAPH = Memories(
    fact("Marta", "lleva el contrato de", "Acme Corporation"),
    fact("Ana", "jefa de", "Luis"),
    fact("Priya", "is married to", "Rajesh"),
    fact("Globex", "tiene su sede en", "Madrid"),
)
MARTA, ANA = "«Marta -> Acme Corporation: lleva el contrato de» [1]", "«Ana -> Luis: jefa de» [2]"
PRIYA, GLOBEX = "«Priya -> Rajesh: is married to» [3]", "«Globex -> Madrid: tiene su sede en» [4]"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("¿quién lleva el contrato de Acme Corporation?", MARTA),
        ("quien lleva el contrato de acme corporation", MARTA),
        ("¿Qué lleva Marta?", MARTA),
        ("¿Quién es jefa de Luis?", ANA),
        ("¿De quién es jefa Ana?", ANA),
        ("¿Cómo se llama la jefa de Luis?", ANA),
        ("Who is married to Rajesh?", PRIYA),
        ("Who is Priya married to?", PRIYA),
        ("¿Dónde tiene su sede Globex?", GLOBEX),
        ("¿Es Ana jefa de Luis?", f"Sí. {ANA}"),
        ("¿Marta lleva el contrato de Acme Corporation?", f"Sí. {MARTA}"),
        ("¿Es Luis jefa de Ana?", ANA),
    ],
)
async def test_a_fact_answers_from_either_end(question: str, answer: str) -> None:
    assert (await GRAPH.ask(question)).text == answer


@pytest.mark.parametrize(
    "question",
    [
        "¿Quién es jefa de Ana?",
        "¿Quién es jefa de Marta?",
        "¿Quién lleva el contrato de Globex?",
        "¿Quién firma el presupuesto de Acme Corporation?",
        "¿Cuándo lleva Marta el contrato de Acme Corporation?",
    ],
)
async def test_what_no_fact_states_is_not_answered(question: str) -> None:
    assert (await GRAPH.ask(question)).abstained


async def test_the_quote_is_what_is_stored() -> None:
    assert (await GRAPH.ask("¿Quién es jefa de Luis?")).quotes == ((2, "Ana -> Luis: jefa de"),)


def test_the_parts_of_a_fact() -> None:
    chunk = GRAPH.passages[0].chunk
    assert fact_of(chunk) == Fact(subject="Marta", predicate="lleva el contrato de", object="Acme Corporation")
    arrows = replace(chunk, content="a -> b: c -> d: e: f", entities=("a -> b: c", "d"))
    assert fact_of(arrows) == Fact(subject="a -> b: c", predicate="e: f", object="d")
    for other in (
        replace(chunk, entities=("Marta",)),
        replace(chunk, entities=("Acme Corporation", "Marta")),
        replace(chunk, collection="history"),
    ):
        assert fact_of(other) is None
