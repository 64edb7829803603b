"""GET /context."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.memory.load_context import LoadContext
from ragcorp.interface.http.answers.context_schema import ContextBody, ContextParameters
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.disconnect import unless_client_leaves
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.principal import CurrentPrincipal
from ragcorp.interface.http.protocol.request_id import request_id_of
from ragcorp.interface.shapes.memory import context_document


class ContextRoutes:
    """The memory briefing over HTTP."""

    def __init__(self, *, context: LoadContext, metrics: HttpMetrics) -> None:
        self._context = context
        self._metrics = metrics

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(
            "/context",
            self.load,
            methods=["GET"],
            operation_id="load_context",
            summary="Recall what a conversation is about",
            description="Memories, turns of conversations and facts as a briefing for a language model's prompt. An "
            "empty memory is an empty briefing.",
            tags=["search"],
            response_model=ContextBody,
            responses=problems(422, 503),
        )

    async def load(
        self, request: Request, query: Annotated[ContextParameters, Query()], principal: CurrentPrincipal
    ) -> Response:
        loading = self._context.load(query.query, limit=query.limit, session=query.session, principal=principal)
        context = await unless_client_leaves(request, loading)
        self._metrics.count_search(context.response)
        return json_response(context_document(context, request_id=request_id_of(request.scope)))
