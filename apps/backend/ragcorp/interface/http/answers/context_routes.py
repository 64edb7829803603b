"""GET /context."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from ragcorp.application.memory.load_context import DEFAULT_QUERY, MAX_CONTEXT_ITEMS
from ragcorp.domain.collections import MAX_ITEM_NAME
from ragcorp.interface.http.call import CurrentCall, operations
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.parameters import Parameters
from ragcorp.interface.shapes.memory import ContextBody, context_document

router = operations("search")


class ContextParameters(Parameters):
    """What to remember, as query parameters."""

    query: str = Field(DEFAULT_QUERY, description="What the conversation is about.")
    limit: int | None = Field(
        None, ge=1, le=MAX_CONTEXT_ITEMS, description="Items at most; left out: DEFAULT_RESULT_LIMIT."
    )
    session: str | None = Field(None, min_length=1, max_length=MAX_ITEM_NAME, description="Of one session only.")


@router.get(
    "/context",
    summary="Recall what a conversation is about",
    description="Memories, turns of conversations and facts as a briefing for a language model's prompt. An empty "
    "memory is an empty briefing.",
    response_model=ContextBody,
    responses=problems(422, 503),
)
async def load_context(query: Annotated[ContextParameters, Query()], call: CurrentCall) -> Response:
    loading = call.use_cases.context.load(
        query.query, limit=query.limit, session=query.session, principal=call.principal
    )
    context = await call.unless_client_leaves(loading)
    call.metrics.count_search(context.response)
    return json_response(context_document(context, request_id=call.request_id))
