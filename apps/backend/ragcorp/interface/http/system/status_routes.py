"""GET /status."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from ragcorp.interface.http.call import CurrentCall, operations
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.shapes.status import StatusBody, status_document

SLOT_SECONDS = 1.0
"""How long counting waits for its slot; the rest of the answer needs none."""

router = operations("system")


@router.get(
    "/status",
    summary="Tell how the service is",
    description="Sources at fault in plain words, what of the workspace the caller may read, vectors that are still to "
    "be made, and the settings that shape searches and answers. It answers 200 while the database is out, too, within "
    "two seconds of the lookup of the key; what cannot be known then is null.",
    response_model=StatusBody,
    responses=problems(),
)
async def status(call: CurrentCall) -> Response:
    turn = partial(call.slot.part, wait_seconds=SLOT_SECONDS)
    report = await call.services.status.report(principal=call.principal, turn=turn)
    return json_response(status_document(report, request_id=call.request_id))
