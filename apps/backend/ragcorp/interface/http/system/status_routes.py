"""GET /status."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.status.report import ReportStatus
from ragcorp.interface.http.layers.admission import CurrentSlot
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.principal import CurrentPrincipal
from ragcorp.interface.http.protocol.request_id import request_id_of
from ragcorp.interface.http.system.status_schema import StatusBody, status_document

SLOT_SECONDS = 1.0
"""How long counting waits for its slot; the rest of the answer needs none."""


class StatusRoutes:
    """How the service is, over HTTP."""

    def __init__(self, *, report: ReportStatus) -> None:
        self._report = report

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(
            "/status",
            self.status,
            methods=["GET"],
            operation_id="status",
            summary="Tell how the service is",
            description="Sources at fault in plain words, what of the workspace the caller may read, vectors that are "
            "still to be made, and the settings that shape searches and answers. It answers 200 while the "
            "database is out, too, within two seconds of the lookup of the key; what cannot be known then is null.",
            tags=["system"],
            response_model=StatusBody,
            responses=problems(),
        )

    async def status(self, request: Request, principal: CurrentPrincipal, slot: CurrentSlot) -> Response:
        turn = partial(slot.part, wait_seconds=SLOT_SECONDS)
        status = await self._report.report(principal=principal, turn=turn)
        return json_response(status_document(status, request_id=request_id_of(request.scope)))
