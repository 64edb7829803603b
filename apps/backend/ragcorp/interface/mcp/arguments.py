"""The base of all tools: strict arguments, no unknown names, and errors that repeat no value."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.keys import Scope
from ragcorp.domain.principal import Principal
from ragcorp.interface.mcp.services import McpLimits, McpServices
from ragcorp.interface.shapes.result_text import GrepStatus

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
    """The result of a tool: text for people and models, the same as a shape, and the status of a search."""

    text: str
    document: Mapping[str, object]
    status: GrepStatus | None = None


class ToolCall(BaseModel, ABC):
    """A call of a tool: the fields are its arguments."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, allow_inf_nan=False)

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    output: ClassVar[Any]
    """The typed dict that ``run`` returns."""
    scope: ClassVar[Scope]
    """The scope that a key needs to list and call the tool."""

    @classmethod
    def of(cls, arguments: Mapping[str, object]) -> Self:
        """Return the call. Raises InvalidInputError, which names the tool's arguments and no value."""
        try:
            return cls.model_validate(dict(arguments), by_name=False, by_alias=True)
        except ValidationError as error:
            raise _refused(error.errors(include_input=False, include_url=False), cls) from None

    @classmethod
    def input_schema(cls) -> dict[str, Any]:
        return _shortened(cls.model_json_schema(by_alias=True))

    @classmethod
    def output_schema(cls) -> dict[str, Any]:
        return _shortened(TypeAdapter(cls.output).json_schema())

    @abstractmethod
    async def run(self, services: McpServices, principal: Principal) -> ToolOutcome: ...

    @classmethod
    def seconds(cls, limits: McpLimits) -> float:
        return limits.tool_seconds


def _refused(details: list[ErrorDetails], kind: type[ToolCall]) -> InvalidInputError:
    errors: dict[str, str] = {}
    for detail in details:
        if detail["type"] == "extra_forbidden":
            # an unknown name is the caller's text, like every part of a location after the first
            arguments = ", ".join(info.alias or name for name, info in kind.model_fields.items())
            errors.setdefault("", f"there is an unknown one ({kind.name} takes {arguments})")
        else:
            name = str(detail["loc"][0])
            errors.setdefault(name, _error(name, detail))
    return InvalidInputError(
        f"The arguments do not fit: {'; '.join(list(errors.values())[:MAX_ERRORS])}.",
        remedy="Send what the tool's schema asks for.",
    )


def _error(name: str, detail: ErrorDetails) -> str:
    if detail["type"] == "missing":
        return f"{name} is missing"
    message = detail["msg"].replace("dictionary", "object")
    return f"{name} {message.removeprefix('Input ')}" if message.startswith("Input ") else f"{name}: {message}"


def _shortened(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove examples, and the titles that pydantic derives from names: they only cost a model's reader words."""
    return {
        key: {name: _shortened(part) for name, part in value.items()}
        if key in ("properties", "$defs")
        else _shortened_value(value)
        for key, value in schema.items()
        if key not in ("title", "examples")
    }


def _shortened_value(value: Any) -> Any:
    if isinstance(value, dict):
        return _shortened(value)
    return [_shortened_value(item) for item in value] if isinstance(value, list) else value
