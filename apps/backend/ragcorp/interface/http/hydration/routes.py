"""GET /introspect/hydration/{episode_id}."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field
from starlette.responses import Response

from ragcorp.interface.http.call import CurrentCall, json_response, operations
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.document_names import external_id_of
from ragcorp.interface.http.protocol.models import Parameters
from ragcorp.interface.shapes.hydration import HydrationTurnBody, turn_document

EpisodeId = Annotated[
    str, Path(description="The `episode_id` of a search or question of your own. A slash in it is written %2F or /.")
]

router = operations("search")


class HydrationTurnParameters(Parameters):
    """Which turn, as a query parameter."""

    turn: int | None = Field(None, ge=1, le=2**31 - 1, description="From 1; left out: the latest.")


@router.get(
    "/introspect/hydration/{episode_id:path}",
    summary="Tell what a turn of an episode showed, and why",
    description="Entities in the order in which they were shown, each with its reasons; what was dropped, warnings and "
    "the budget. The caller's own episodes only.",
    response_model=HydrationTurnBody,
    responses=problems(404, 422, 503),
)
async def introspect_hydration(
    episode_id: EpisodeId, query: Annotated[HydrationTurnParameters, Query()], call: CurrentCall
) -> Response:
    episode = external_id_of(episode_id, field="episode_id")
    turn = await call.use_cases.introspect.introspect(episode, principal=call.principal, turn=query.turn)
    return json_response(turn_document(turn))
