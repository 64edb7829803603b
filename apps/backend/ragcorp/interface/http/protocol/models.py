"""Base models of request bodies and query parameters, and the parameters that several resources share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ragcorp.application.validation.attribute_checks import MAX_EXTERNAL_ID
from ragcorp.application.validation.list_cursor import MAX_PAGE

PageLimit = Annotated[int, Field(ge=1, le=MAX_PAGE)]
PageCursor = Annotated[str | None, Field(max_length=4000, description="`next_cursor` of the page before.")]
FiltersText = Annotated[
    str | None,
    Field(max_length=16_384, description="The filters of /search, as JSON.", examples=['{"language": "es"}']),
]


class StrictModel(BaseModel):
    """Takes no unknown field, no number for a text and no text for a number, and shows no value in an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Selection(Parameters):
    """Which documents, items, entities or facts."""

    prefix: str = Field("", max_length=MAX_EXTERNAL_ID, description="Start of external_id.")
    filters: FiltersText = None


class Page(Selection):
    """A page of a list."""

    limit: PageLimit = 50
    cursor: PageCursor = None
