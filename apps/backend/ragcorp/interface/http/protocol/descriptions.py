"""Shared parts of the OpenAPI description: problems, contents and request bodies."""

from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ragcorp.interface.http.protocol.problems import MEDIA_TYPE

REF = "#/components/schemas/{model}"


class ProblemField(BaseModel):
    """What is wrong with one field."""

    field: str
    message: str
    limit: str | None = None
    remedy: str | None = None


class ReadinessCheck(BaseModel):
    """One thing that a search takes for granted."""

    check: str
    status: Literal["ok", "failed"]
    reason: str | None = None
    detail: str | None = None
    remedy: str | None = None


class ProblemDetails(BaseModel):
    """An error."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:ragcorp:invalid_input",
                    "title": "Unprocessable Content",
                    "status": 422,
                    "detail": "limit is out of range. Ask for fewer results and follow next_cursor.",
                    "code": "invalid_input",
                    "errors": [{"field": "limit", "message": "limit is out of range.", "limit": "1 to 50"}],
                    "request_id": "6f1c",
                }
            ]
        }
    )

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable and machine-readable.")
    errors: list[ProblemField]
    request_id: str
    reason: str | None = Field(None, description="Why a system is out, or which limit is reached: a short stable word.")
    checks: list[ReadinessCheck] | None = Field(None, description="What was looked at, of /readyz alone.")


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the problem responses of an operation, with the default for any other error."""
    described = {"content": {MEDIA_TYPE: {"schema": {"$ref": REF.format(model="ProblemDetails")}}}}
    return {
        **{status: {"description": HTTPStatus(status).phrase, **described} for status in statuses},
        "default": {"description": "Any other error", **described},
    }


def content(media_type: str, schema: dict[str, Any], description: str = "OK") -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def reference(model: type) -> dict[str, Any]:
    return {"$ref": REF.format(model=model.__name__)}


def one_of(*models: type) -> dict[str, Any]:
    return {"anyOf": [reference(model) for model in models]} if len(models) > 1 else reference(models[0])


def request_body(*models: type, **others: dict[str, Any]) -> dict[str, Any]:
    """Describe a body that its handler reads: JSON of one of ``models``, or other media types with their schemas."""
    contents = {"application/json": {"schema": one_of(*models)}}
    contents |= {media_type: {"schema": schema} for media_type, schema in others.items()}
    return {"requestBody": {"required": True, "content": contents}}
