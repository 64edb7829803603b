"""The graph through the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragcorp import RagcorpError
from ragcorp.domain.graph import EntityReference

pytestmark = pytest.mark.anyio


async def test_what_is_added_is_listed_found_and_deleted(open_rag: Callable[..., Any]) -> None:
    rag = await open_rag()
    priya = (await rag.graph.add_entity("Priya", kind="person", aliases=["Pri"])).external_id
    assert priya.startswith("person:priya~")
    fact = await rag.graph.add_fact("Rajesh", "planning vacation to Goa in March", "pri", language="en")
    assert (await rag.graph.fact(fact.external_id)).text == "Rajesh -> Priya: planning vacation to Goa in March"
    results, cursor = await rag.graph.facts(entity=priya)
    assert ([one.external_id for one in results], cursor) == ([fact.external_id], None)
    entities, _ = await rag.graph.entities(name="PRI")
    assert [one.name for one in entities] == ["Priya"]
    load = await rag.graph.load([b'{"type": "entity", "name": "Goa"}', b"?"])
    assert (load.created, [failure.line for failure in load.failures]) == (1, [2])
    with pytest.raises(RagcorpError):
        await rag.graph.add_fact(EntityReference(external_id="person:nobody"), "x", "Goa")
    with pytest.raises(RagcorpError, match="no language model is configured"):
        await rag.graph.extract()
    await rag.graph.delete_fact(fact.external_id)
    await rag.graph.delete_entity(priya)
    with pytest.raises(RagcorpError):
        await rag.graph.entity(priya)
    # the vectors of the names are made as those of passages are
    left = await rag.embed_pending()
    assert left.pending == 0


async def test_facts_are_passages_of_a_search(open_rag: Callable[..., Any]) -> None:
    rag = await open_rag()
    await rag.graph.add_fact("Rajesh", "planning vacation to Goa in March", "Priya", language="en")
    await rag.graph.add_fact("Priya", "sister of", "Anil", language="en")
    response = await rag.search("What does Rajesh plan?", profile="memory")
    shown = [hit.chunk for hit in response.hits if hit.chunk.collection == "graph"]
    assert [chunk.content for chunk in shown] == [
        "Rajesh -> Priya: planning vacation to Goa in March",
        "Priya -> Anil: sister of",
    ]
    assert shown[0].entities == ("Rajesh", "Priya")
    assert [source.source for source in response.hits[0].sources] == ["graph"]
    assert response.degraded == ()
