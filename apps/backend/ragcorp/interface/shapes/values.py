"""Types that several shapes share, and the function that fills a shape from domain values."""

from typing import Annotated, TypeVar, cast

from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.principal import Sensitivity

StatusName = Annotated[str, WithJsonSchema({"type": "string", "enum": list(IngestStatus)})]
SensitivityLabel = Annotated[str, WithJsonSchema({"type": "string", "enum": [level.label for level in Sensitivity]})]

Shape = TypeVar("Shape")


class Identified(TypedDict):
    request_id: str


def filled(shape: type[Shape], *sources: object, **values: object) -> Shape:
    """Return a typed dict with each field from ``values``, else from the first of ``sources`` that has it."""
    fields: dict[str, object] = {}
    for name in shape.__annotations__:
        source = next((source for source in sources if hasattr(source, name)), sources[-1])
        fields[name] = values[name] if name in values else getattr(source, name)
    return cast("Shape", fields)
