"""The server's parser, which answers what is no HTTP with a problem as well."""

from __future__ import annotations

import secrets

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ragcorp.interface.http.problems import MEDIA_TYPE, FieldError, Problem

MALFORMED = Problem(
    status=400,
    code="malformed_request",
    detail="The request is not valid HTTP, or its URL or headers are too long. Send less in them.",
    errors=(
        FieldError(
            field="request",
            message="The request is not valid HTTP, or its URL or headers are too long.",
            limit="65536 bytes of URL and headers",
            remedy="Send less in them; long texts belong into a body.",
        ),
    ),
)


class ProblemProtocol(HttpToolsProtocol):
    """Where the parser gives up there is no request yet, so nothing of the application can answer."""

    def send_400_response(self, _: str) -> None:
        request_id = secrets.token_hex(16)
        body = orjson.dumps(MALFORMED.as_json(request_id))
        head = (
            "HTTP/1.1 400 Bad Request\r\n"
            f"content-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\n"
            f"x-request-id: {request_id}\r\n"
            "x-content-type-options: nosniff\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
