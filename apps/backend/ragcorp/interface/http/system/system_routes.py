"""Health, status, metrics and the interactive description."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import fastapi_offline
from fastapi.openapi.docs import get_swagger_ui_html
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.resilience.time_bound import run_within
from ragcorp.domain.diagnosis import NotReadyError
from ragcorp.domain.exceptions import RagcorpError, SourceUnavailableError, StorageUnavailableError
from ragcorp.interface.http.call import Call, CurrentCall, json_response, operations
from ragcorp.interface.http.layers.security_headers import docs_policy
from ragcorp.interface.http.protocol.descriptions import content, problems
from ragcorp.interface.http.protocol.problems import problem_of
from ragcorp.interface.http.protocol.request_scope import caller_of
from ragcorp.interface.shapes.status import StatusBody, status_document

ASSETS = Path(fastapi_offline.__file__).parent / "static"
ASSETS_PATH = "/docs/assets"
CHECK_SECONDS = 2.0

router = operations("system")
status_router = operations("system")
"""Apart, for its place in the description."""


class Health(BaseModel):
    """The service answers."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", summary="Is the process alive?", response_model=Health, responses=problems())
async def healthz() -> Response:
    return json_response({"status": "ok"})


@router.get("/readyz", summary="Can it serve?", response_model=Health, responses=problems(503))
async def readyz(call: CurrentCall) -> Response:
    try:
        await run_within(CHECK_SECONDS, call.services.readiness())
    except TimeoutError:
        raise StorageUnavailableError(
            "The database did not answer in time.", reason="timeout", remedy="`ragcorp doctor` tells more."
        ) from None
    except NotReadyError as error:
        checks = [finding.as_json() for finding in error.findings]
        return replace(problem_of(error), extra={"checks": checks}).response(call.request.scope)
    return json_response({"status": "ok"})


@router.get(
    "/metrics",
    summary="Prometheus metrics",
    response_class=Response,
    responses={200: content("text/plain", {"type": "string"}, "Prometheus text format."), **problems()},
)
async def metrics(call: CurrentCall) -> Response:
    backlog, _ = await asyncio.gather(_backlog(call), _observe_readiness(call))
    snapshots = None if call.worker is None else await call.worker.snapshots()
    text = call.metrics.exposition(backlog=backlog, pool=call.services.pool_statistics(), snapshots=snapshots)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """While no key exists, describe every operation as open without one."""
    described: dict[str, Any] = request.app.state.description()
    if caller_of(request.scope).key_id is None:
        described = {**described, "security": [{}, *described["security"]]}
    return json_response(described)


@router.get("/docs", include_in_schema=False)
async def docs() -> Response:
    """Use relative addresses: a proxy may add a prefix to all paths."""
    assets = ASSETS_PATH.removeprefix("/")
    page = get_swagger_ui_html(
        openapi_url="openapi.json",
        title="ragcorp",
        swagger_js_url=f"{assets}/swagger-ui-bundle.js",
        swagger_css_url=f"{assets}/swagger-ui.css",
        swagger_favicon_url=f"{assets}/favicon.png",
    )
    page.headers["Content-Security-Policy"] = docs_policy(bytes(page.body))
    return page


async def _backlog(call: Call) -> tuple[int, int] | None:
    try:
        counts = await run_within(CHECK_SECONDS, call.services.use_cases.embed_pending.counts())
    except (TimeoutError, SourceUnavailableError):
        return None  # the other metrics matter most while the database is out
    return counts.pending, counts.failed


async def _observe_readiness(call: Call) -> None:
    with suppress(TimeoutError, RagcorpError):  # a gauge shows the outcome
        await run_within(CHECK_SECONDS, call.services.readiness())


SLOT_SECONDS = 1.0
"""How long counting waits for its slot; the rest of the answer needs none."""


@status_router.get(
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
    worker = None if call.worker is None else call.worker.name
    return json_response(status_document(report, request_id=call.request_id, worker=worker))
