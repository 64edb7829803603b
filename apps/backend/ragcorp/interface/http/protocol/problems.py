"""Errors as ``application/problem+json`` (RFC 9457). The domain's exception tree is mapped here, once."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragcorp.domain import exceptions as domain
from ragcorp.domain import keys
from ragcorp.interface.http.protocol.request_scope import request_id_of

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 2

STATUS_BY_ERROR: Mapping[type[domain.RagcorpError], int] = {
    domain.RagcorpError: 500,
    domain.InvalidInputError: 422,
    domain.UnreadableDocumentError: 422,
    domain.PayloadTooLargeError: 413,
    domain.UnsupportedMediaTypeError: 415,
    domain.FileAccessDeniedError: 403,
    domain.NotFoundError: 404,
    domain.ConflictError: 409,
    keys.UnauthenticatedError: 401,
    keys.ForbiddenError: 403,
    keys.TooManyRequestsError: 429,
    domain.SourceUnavailableError: 503,
    # the operator's fault, and temporary
    domain.ConfigurationError: 503,
    domain.NotConfiguredError: 409,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """The error of one field of the request, without its value."""

    field: str
    message: str
    limit: str | None = None
    remedy: str | None = None

    def as_json(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value is not None}


class RequestRefusedError(Exception):
    """The request is invalid, in the fields of ``errors`` or as ``detail`` says."""

    def __init__(self, *errors: FieldError, code: str = "invalid_input", detail: str | None = None) -> None:
        super().__init__(code)
        self.errors = errors
        self.code = code
        self.detail = detail or "The request is not valid: see errors."


class BodyStalledError(Exception):
    """The body did not arrive in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem: an ASGI application that sends it, a stream's event or a line of a bulk response."""

    status: int
    code: str
    detail: str
    errors: Sequence[FieldError] = ()
    reason: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self, request_id: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": f"urn:ragcorp:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "errors": [error.as_json() for error in self.errors],
            "request_id": request_id,
        }
        if self.reason is not None:
            body["reason"] = self.reason
        return {**body, **self.extra}

    def as_line(self) -> dict[str, Any]:
        reason = {} if self.reason is None else {"reason": self.reason}
        return {
            "code": self.code, "detail": self.detail, "errors": [error.as_json() for error in self.errors], **reason
        }  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.response(scope)(scope, receive, send)

    def response(self, scope: Scope) -> Response:
        return Response(
            orjson.dumps(self.as_json(request_id_of(scope))),
            status_code=self.status,
            media_type=MEDIA_TYPE,
            headers=dict(self.headers),
        )


STALLED = Problem(
    status=408,
    code="request_timeout",
    detail="The body did not come in time. Send it again, faster or in smaller parts.",
    reason="timeout",
    headers={"Connection": "close"},  # the rest of the body is no next request
)


def problem_of(error: Exception) -> Problem:
    """Return the problem of a domain or request error; any other error gets one without details."""
    match error:
        case RequestRefusedError():
            return Problem(status=422, code=error.code, detail=error.detail, errors=error.errors)
        case BodyStalledError():
            return STALLED
        case domain.RagcorpError():
            return _of_domain(error)
        case TimeoutError():
            return timed_out()
        case _:
            return Problem(
                status=500, code="internal", detail="Something went wrong here. The log has it under the request id."
            )


def timed_out() -> Problem:
    return Problem(
        status=503,
        code="request_timeout",
        detail="The request took too long. Try again, ask for less, or raise REQUEST_TIMEOUT_SECONDS.",
        reason="timeout",
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
    )


def _of_domain(error: domain.RagcorpError) -> Problem:
    status = next(STATUS_BY_ERROR[kind] for kind in type(error).__mro__ if kind in STATUS_BY_ERROR)
    headers: dict[str, str] = {}
    reason = error.reason
    if isinstance(error, domain.SourceUnavailableError):
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
        if isinstance(error, domain.AnswererUnavailableError) and reason == "timeout":
            status = 504
    if isinstance(error, keys.UnauthenticatedError):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, keys.TooManyRequestsError):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_seconds)))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("%s: %s", error.code, reason or error.message)
    errors = (
        [FieldError(field=error.field, message=error.message, limit=error.limit, remedy=error.remedy)]
        if error.field
        else []
    )
    return Problem(status=status, code=error.code, detail=str(error), errors=errors, reason=reason, headers=headers)
