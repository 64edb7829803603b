"""The id of a request in responses and the log."""

import re
import secrets

from starlette.types import Scope

HEADER = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_KEY = "ragcorp.request_id"


def assign_request_id(scope: Scope) -> str:
    """Use the client's id if it is well-formed, else make one."""
    request_id = ""
    for name, value in scope["headers"]:
        if name == HEADER and _SANE.fullmatch(value):
            request_id = value.decode("ascii")
    scope[_KEY] = request_id = request_id or secrets.token_hex(16)
    return request_id


def request_id_of(scope: Scope) -> str:
    return scope.get(_KEY) or assign_request_id(scope)
