"""Turns pydantic's errors into field errors that repeat nothing the caller sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ragcorp.interface.http.protocol.problems import FieldError, RequestRefusedError

MAX_ERRORS = 20
_LIMITS = ("max_length", "min_length", "le", "ge", "lt", "gt", "expected")


def refused(error: ValidationError, model: type[BaseModel], *, field: str = "body") -> RequestRefusedError:
    """Return the error for a body, or a ``field`` of it, that does not fit ``model``."""
    details = error.errors(include_input=False, include_url=False)
    if details and details[0]["type"] == "json_invalid":
        return RequestRefusedError(
            FieldError(field="body", message="The body is not valid JSON.", remedy="Send one JSON object in UTF-8."),
            code="malformed_json",
            detail="The body is not valid JSON.",
        )
    return RequestRefusedError(*field_errors(details, names=field_names(model), root=field, model=model))


def field_names(model: type[BaseModel]) -> frozenset[str]:
    names: set[str] = set()
    for name, info in model.model_fields.items():
        names.add(name)
        for part in _models_in(info.annotation):
            names |= field_names(part)
    return frozenset(names)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def field_errors(
    details: Iterable[ErrorDetails | Mapping[str, Any]],
    *,
    names: frozenset[str],
    root: str = "body",
    model: type[BaseModel] | None = None,
) -> Sequence[FieldError]:
    """Return one error per field. Only ``names`` are repeated: other parts of a location are the caller's text."""
    errors: dict[str, FieldError] = {}
    unknown: set[tuple[int | str, ...]] = set()
    for detail in details:
        if detail["type"] == "extra_forbidden":
            place = tuple(detail["loc"][:-1])
            if place in unknown:  # a body may have thousands; one is reported
                continue
            unknown.add(place)
        error = _field_error(detail, names, root, model)
        errors.setdefault(error.field, error)
        if len(errors) == MAX_ERRORS:
            break
    return tuple(errors.values())


def _field_error(
    detail: ErrorDetails | Mapping[str, Any], names: frozenset[str], root: str, model: type[BaseModel] | None
) -> FieldError:
    location: Sequence[int | str] = detail["loc"]
    if detail["type"] == "extra_forbidden":
        return FieldError(
            field=_path(location[:-1], names) or root,
            message="Unknown field.",
            limit=", ".join(_names_at(location[:-1], model)) or None,
            remedy="Send only the fields that the OpenAPI description names.",
        )
    context: Mapping[str, Any] = detail.get("ctx") or {}
    limit = next((str(context[name]) for name in _LIMITS if name in context), None)
    message = str(detail["msg"]).removeprefix("Value error, ")
    return FieldError(
        field=_path(location, names) or root,
        message=f"{message}.".replace("..", "."),
        limit=limit,
        remedy="Send a value within the limit." if limit else "Send what the OpenAPI description asks for.",
    )


def _names_at(location: Sequence[int | str], model: type[BaseModel] | None) -> list[str]:
    """Return the names of the fields that the location allows."""
    models = [] if model is None else [model]
    for part in location:
        steps = [part_model.model_fields[part].annotation for part_model in models if part in part_model.model_fields]
        if steps:  # any other part is an index or a member of a union
            models = [inner for step in steps for inner in _models_in(step)]
    return sorted({name for part_model in models for name in part_model.model_fields})


def _path(location: Sequence[int | str], names: frozenset[str]) -> str:
    parts: list[str] = []
    for part in location:
        if isinstance(part, int):
            parts.append(str(part))
        elif part in names:
            parts.append(part)
        else:
            break
    return ".".join(parts)
