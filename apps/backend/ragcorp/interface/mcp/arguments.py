"""What all tools' arguments have in common: strict types, no unknown names, and errors without a value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import Filters
from ragcorp.domain.keys import Scope
from ragcorp.domain.principal import Principal
from ragcorp.interface.mcp.services import McpLimits, McpServices
from ragcorp.interface.request_values import parse_filters
from ragcorp.interface.search_status import SearchStatus

MAX_ERRORS = 10

Limit = Annotated[int, Field(ge=1, le=50, description="Results at most.")]
FiltersArgument = Annotated[
    dict[str, Any] | None,
    Field(
        description="Conditions that all must hold, by field (artifact_type, language, sensitivity, occurred_at, "
        "collection, ...) or metadata key: a value, a list of values, or operators. "
        'Example: {"artifact_type": ["contract", "policy"], "year": {"$gte": 2025}}.'
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a tool returns: text for people and models, the same as a JSON object, and how a search went."""

    text: str
    document: dict[str, object]
    status: SearchStatus | None = None


class ToolCall(BaseModel, ABC):
    """A call of a tool: the fields are its arguments."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, allow_inf_nan=False)

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    output_schema: ClassVar[dict[str, Any]]
    scope: ClassVar[Scope]
    """What a key needs to be shown and to call it."""

    @classmethod
    def of(cls, arguments: Mapping[str, object]) -> Self:
        """Raises InvalidInputError, which names arguments of ours and no value."""
        try:
            return cls.model_validate(dict(arguments), by_name=False, by_alias=True)
        except ValidationError as error:
            raise _refused(error.errors(include_input=False, include_url=False), cls) from None

    @classmethod
    def input_schema(cls) -> dict[str, Any]:
        schema: dict[str, Any] = _untitled(cls.model_json_schema(by_alias=True))
        return schema

    @abstractmethod
    async def run(self, services: McpServices, principal: Principal) -> ToolOutcome: ...

    @classmethod
    def seconds(cls, limits: McpLimits) -> float:
        return limits.tool_seconds


def filters_of(given: Mapping[str, object] | None) -> Filters:
    return parse_filters(given) if given else ()


def _refused(details: list[ErrorDetails], kind: type[ToolCall]) -> InvalidInputError:
    said: dict[str, str] = {}
    for detail in details:
        if detail["type"] == "extra_forbidden":
            # an unknown name is the caller's text, as is all below the first part of a place
            known = ", ".join(info.alias or name for name, info in kind.model_fields.items())
            said.setdefault("", f"there is an unknown one ({kind.name} takes {known})")
        else:
            name = str(detail["loc"][0])
            said.setdefault(name, _said(name, detail))
    return InvalidInputError(
        f"The arguments do not fit: {'; '.join(list(said.values())[:MAX_ERRORS])}.",
        remedy="Send what the tool's schema asks for.",
    )


def _said(name: str, detail: ErrorDetails) -> str:
    if detail["type"] == "missing":
        return f"{name} is missing"
    message = detail["msg"].replace("dictionary", "object")
    return f"{name} {message.removeprefix('Input ')}" if message.startswith("Input ") else f"{name}: {message}"


def _untitled(schema: Any) -> Any:
    """Leave out the titles that pydantic makes of names: they cost a model's reader words and say nothing."""
    if isinstance(schema, dict):
        return {
            key: _untitled(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))
        }
    return [_untitled(item) for item in schema] if isinstance(schema, list) else schema
