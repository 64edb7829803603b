"""Errors of the use cases name the arguments of the tool."""

from __future__ import annotations

import pytest
from mcp import Client

from ragcorp.domain.exceptions import InvalidInputError
from support.mcp.fakes import Behaviour, fake_services, server_over, text_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("sent", ["semantic_query", "query"])
async def test_an_error_names_the_argument_that_was_sent(sent: str) -> None:
    behaviour = Behaviour()
    behaviour.error = InvalidInputError(
        "query has more than 2000 characters.", field="query", limit="2000 characters", remedy="Shorten it."
    )
    async with Client(server_over(fake_services(behaviour))) as client:
        failed = text_of(await client.call_tool("hybrid_search", {sent: "x"}))
        assert failed == (f"{sent} has more than 2000 characters. Shorten it. (field: {sent}, limit: 2000 characters)")
        behaviour.error = InvalidInputError("limit is out of range.", field="limit")
        assert text_of(await client.call_tool("hybrid_search", {sent: "x"})) == "limit is out of range. (field: limit)"
