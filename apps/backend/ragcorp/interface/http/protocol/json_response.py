"""JSON responses: the shapes are described, not validated, so that the hot path does not pay for them twice."""

from typing import Any

from starlette.responses import Response

from ragcorp.interface.shapes.json_text import dumps


def json_response(value: Any, *, status: int = 200) -> Response:
    return Response(dumps(value), status_code=status, media_type="application/json")
