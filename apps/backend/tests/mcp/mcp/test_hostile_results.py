"""Hostile documents in what tools return and in the memory briefing: both are a part of an assistant's prompt."""

from __future__ import annotations

import re
from dataclasses import replace
from uuid import UUID

import pytest
from mcp import Client
from memory.unit.test_briefing import check_neutral

from ragcorp.application.memory.load_context import ContextLimits, LoadContext
from ragcorp.domain.documents import Chunk
from support.answering.hostile import DOCUMENTS, check_neutral_data
from support.mcp.fakes import Behaviour, fake_services, server_over, text_of
from support.mcp.serving import serving_endpoint
from support.memory.conversations import FoundAlready, turn

pytestmark = pytest.mark.anyio

LINE = re.compile(
    r"\[\d\] RRF score: [\d.]+ \(from: [a-z_, ]*\)|Type: \w+ \| ID: \d|Title: .+|Source: .+ \| Sensitivity: normal"
    r'|Snippet: ".*"|Evidence: .+|'
)


def everywhere(text: str, n: int) -> Chunk:
    return turn(
        text, text, id=str(n), document_id=UUID(int=n), external_id=text, title=text, path=text, heading_path=(text,),
        metadata={"source_system": text, "source_url": text}, session=text, entities=(text, text),
        collection=("history", "artifact_chunks", "memory", "graph")[n % 4],
    )  # fmt: skip


@pytest.mark.parametrize("part", range(5))
async def test_results_and_briefings_keep_their_form(part: int) -> None:
    names = list(DOCUMENTS)[part::5]
    search = FoundAlready()
    context = LoadContext(search=search, limits=ContextLimits())
    services = fake_services(Behaviour())
    services = replace(services, use_cases=replace(services.use_cases, search=search, context=context))
    async with serving_endpoint(server_over(services)) as (url, _), Client(url, mode="auto") as client:
        for name in names:
            search.chunks = [everywhere(DOCUMENTS[name], n) for n in range(1, 5)]
            text = text_of(await client.call_tool("memory_search", {"query": "plazo"}))
            head, *lines = text.split("\n")
            assert head.startswith("Found 4 results (searched: ")
            assert all(LINE.fullmatch(line) for line in lines), [line for line in lines if not LINE.fullmatch(line)]
            assert [line[:3] for line in lines if line.startswith("[")] == ["[1]", "[2]", "[3]", "[4]"]
            for line in lines:
                check_neutral_data(re.sub(r"^\[\d\]", "", line))
            briefing = text_of(await client.call_tool("context", {"query": "plazo"}))
            if not briefing.startswith("MEMORY-"):
                continue  # nothing of it can be read
            fence, *inside, last = briefing.split("\n")
            assert fence == last
            assert briefing.lower().count(fence.lower()) == 2
            assert (inside[0], inside[-1]) == ("<memory>", "</memory>")
            for line in inside[3:-1]:
                assert line.startswith("- ")
                check_neutral(line.replace('"', ""))
