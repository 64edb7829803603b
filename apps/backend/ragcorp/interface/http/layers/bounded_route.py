"""Routes that accept declared query parameters only and bound the time until their response begins."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import unquote_to_bytes

from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ragcorp.application.resilience.time_bound import leave_behind
from ragcorp.interface.http.layers.access import require, scope_of
from ragcorp.interface.http.layers.admission import slot_of
from ragcorp.interface.http.protocol.bodies import DEADLINE_KEY, ReadRequest, read_json
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.problems import FieldError, RequestRefusedError, timed_out
from ragcorp.interface.http.protocol.request_scope import caller_of
from ragcorp.interface.http.protocol.validation import field_names

CLIENT_GONE = 499
"""nginx's status for a client that left: only metrics see it."""


class BoundedRoute(APIRoute):
    """Refuses keys without the operation's scope and undeclared query parameters, and bounds the handler's time."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        needed = scope_of(self.unique_id)
        self.query_names = frozenset[str]().union(
            *(_names(field.field_info, field.alias) for field in self.dependant.query_params)
        )
        body_model: Any = None if self.body_field is None else self.body_field.field_info.annotation
        has_body = body_model is not None or "requestBody" in (self.openapi_extra or {})

        async def read_and_handle(request: Request) -> Response:
            if body_model is None:
                return await handle(request)
            body = await read_json(request, body_model, request.app.state.limits)
            return await handle(ReadRequest(request, body))

        async def bounded(request: Request) -> Response:
            require(caller_of(request.scope), needed)
            check_parameters(request, self.query_names)
            limits: HttpLimits = request.app.state.limits
            handling: asyncio.Task[Response] | None = None
            try:
                if not has_body:
                    await slot_of(request.scope).take(request)
                async with asyncio.timeout(limits.request_timeout_seconds) as deadline:
                    request.scope[DEADLINE_KEY] = deadline
                    handling = asyncio.create_task(read_and_handle(request))
                    return await asyncio.shield(handling)
            except TimeoutError:
                return timed_out().response(request.scope)
            except ClientDisconnect:
                return Response(status_code=CLIENT_GONE)
            finally:
                if handling is not None:
                    leave_behind(handling)

        return bounded


def check_parameters(request: Request, accepted: frozenset[str]) -> None:
    """Raise RequestRefusedError for an unknown query parameter, or one given twice: one value would be ignored."""
    names = [name for name, _ in request.query_params.multi_items()]
    if not _is_utf8(request.scope["query_string"]):
        raise RequestRefusedError(
            FieldError(
                field="query",
                message="The query parameters are not valid UTF-8.",
                remedy="Percent-encode them as UTF-8.",
            )
        )
    if not accepted.issuperset(names):
        raise RequestRefusedError(
            FieldError(
                field="query",
                message="Unknown query parameter.",
                limit=", ".join(sorted(accepted)) or None,
                remedy="Send only the parameters that the OpenAPI description names.",
            )
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RequestRefusedError(
            *(FieldError(field=name, message="The parameter is given twice.", remedy="Give it once.") for name in twice)
        )


def _is_utf8(query_string: bytes) -> bool:
    try:
        unquote_to_bytes(query_string).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _names(parameter: FieldInfo, alias: str) -> frozenset[str]:
    """Return the names that a parameter takes in the URL: those of its fields, if it is a model."""
    kind = parameter.annotation
    return field_names(kind) if isinstance(kind, type) and issubclass(kind, BaseModel) else frozenset({alias})
