"""Types that several shapes share."""

from __future__ import annotations

from typing import Annotated

from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.principal import Sensitivity

StatusName = Annotated[str, WithJsonSchema({"type": "string", "enum": list(IngestStatus)})]
SensitivityLabel = Annotated[str, WithJsonSchema({"type": "string", "enum": [level.label for level in Sensitivity]})]


class Identified(TypedDict):
    request_id: str
