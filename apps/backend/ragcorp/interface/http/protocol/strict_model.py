"""The base of all request bodies."""

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """Takes no unknown field, no number for a text and no text for a number, and shows no value in an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)
