"""Health, metrics and the interactive description."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import fastapi_offline
from fastapi import APIRouter
from fastapi.openapi.docs import get_swagger_ui_html
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.resilience.time_bound import run_within
from ragcorp.domain.diagnosis import NotReadyError
from ragcorp.domain.exceptions import RagcorpError, SourceUnavailableError, StorageUnavailableError
from ragcorp.interface.http.layers.security_headers import docs_policy
from ragcorp.interface.http.monitoring.metrics import MEDIA_TYPE, HttpMetrics
from ragcorp.interface.http.protocol.descriptions import content, problems
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.principal import caller_of
from ragcorp.interface.http.protocol.problems import problem_of
from ragcorp.interface.http.services import HttpServices

ASSETS = Path(fastapi_offline.__file__).parent / "static"
ASSETS_PATH = "/docs/assets"
CHECK_SECONDS = 2.0
TAGS: list[str | Enum] = ["system"]


class Health(BaseModel):
    """The service answers."""

    status: Literal["ok"] = "ok"


class SystemRoutes:
    """Health, readiness, metrics and the interactive description over HTTP."""

    def __init__(
        self, *, services: HttpServices, metrics: HttpMetrics, description: Callable[[], dict[str, Any]]
    ) -> None:
        self._services = services
        self._metrics = metrics
        self._description = description

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(
            "/healthz",
            self.healthz,
            methods=["GET"],
            operation_id="healthz",
            summary="Is the process alive?",
            tags=TAGS,
            response_model=Health,
            responses=problems(),
        )
        router.add_api_route(
            "/readyz",
            self.readyz,
            methods=["GET"],
            operation_id="readyz",
            summary="Can it serve?",
            tags=TAGS,
            response_model=Health,
            responses=problems(503),
        )
        router.add_api_route(
            "/metrics",
            self.metrics,
            methods=["GET"],
            operation_id="metrics",
            summary="Prometheus metrics",
            tags=TAGS,
            response_class=Response,
            responses={200: content("text/plain", {"type": "string"}, "Prometheus text format."), **problems()},
        )
        for path, endpoint in (("/openapi.json", self.openapi), ("/docs", self.docs)):
            router.add_api_route(
                path, endpoint, methods=["GET"], operation_id=endpoint.__name__, include_in_schema=False
            )

    async def healthz(self) -> Response:
        return json_response({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        try:
            await run_within(CHECK_SECONDS, self._ready())
        except TimeoutError:
            raise StorageUnavailableError(
                "The database did not answer in time.", reason="timeout", remedy="`ragcorp doctor` tells more."
            ) from None
        except NotReadyError as error:
            problem = problem_of(error)
            return replace(problem, extra={"checks": [finding.as_json() for finding in error.findings]}).response(
                request.scope
            )
        return json_response({"status": "ok"})

    async def metrics(self) -> Response:
        backlog, _ = await asyncio.gather(self._backlog(), self._looked_at())
        text = self._metrics.exposition(backlog=backlog, pool=self._services.pool_statistics())
        return Response(text, headers={"Content-Type": MEDIA_TYPE})

    async def _backlog(self) -> tuple[int, int] | None:
        try:
            counts = await run_within(CHECK_SECONDS, self._services.use_cases.embed_pending.counts())
        except (TimeoutError, SourceUnavailableError):
            return None  # the other metrics matter most while the database is out
        return counts.pending, counts.failed

    async def _looked_at(self) -> None:
        with suppress(TimeoutError, RagcorpError):  # it is shown as a gauge
            await run_within(CHECK_SECONDS, self._ready())

    async def _ready(self) -> None:
        await self._services.readiness()

    async def openapi(self, request: Request) -> Response:
        """While no key exists, describe every operation as open without one."""
        described = self._description()
        if caller_of(request.scope).key_id is None:
            described = {**described, "security": [{}, *described["security"]]}
        return json_response(described)

    async def docs(self) -> Response:
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
