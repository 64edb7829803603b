"""GET /introspect/hydration/{episode_id}."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from ragcorp.application.hydration.introspect import IntrospectHydration
from ragcorp.interface.http.hydration.schema import HydrationTurnBody, HydrationTurnParameters
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.document_names import external_id_of
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.principal import CurrentPrincipal
from ragcorp.interface.shapes.hydration import turn_document

EpisodeId = Annotated[
    str, Path(description="The `episode_id` of a search or question of your own. A slash in it is written %2F or /.")
]


class IntrospectionRoutes:
    """Why something was shown, over HTTP."""

    def __init__(self, *, introspect: IntrospectHydration) -> None:
        self._introspect = introspect

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(
            "/introspect/hydration/{episode_id:path}",
            self.hydration,
            methods=["GET"],
            operation_id="introspect_hydration",
            summary="Tell what a turn of an episode showed, and why",
            description="Entities in the order in which they were shown, each with its reasons; what was dropped, "
            "warnings and the budget. The caller's own episodes only.",
            tags=["search"],
            response_model=HydrationTurnBody,
            responses=problems(404, 422, 503),
        )

    async def hydration(
        self, episode_id: EpisodeId, query: Annotated[HydrationTurnParameters, Query()], principal: CurrentPrincipal
    ) -> Response:
        turn = await self._introspect.introspect(
            external_id_of(episode_id, field="episode_id"), principal=principal, turn=query.turn
        )
        return json_response(turn_document(turn))
