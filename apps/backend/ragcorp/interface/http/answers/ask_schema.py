"""The body of POST /ask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import ConfigDict, Field

from ragcorp.domain.search.requests import MAX_CONVERSATION_ID, SearchRequest
from ragcorp.interface.http.search.schema import RetrievalFields

ASK_EXAMPLE: dict[str, Any] = {"query": "¿Cuál es el plazo de entrega del contrato marco?", "limit": 8, "stream": False}


class AskBody(RetrievalFields):
    """A question. The fields are those of /search, without the cursor: an answer has no pages."""

    model_config = ConfigDict(json_schema_extra={"examples": [ASK_EXAMPLE]})

    stream: bool = Field(False, description="Answer with server-sent events.")
    conversation_id: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_CONVERSATION_ID,
        description="A session of history: a follow-up question is rewritten from it, question and answer are stored "
        "in it, private to the caller.",
    )

    def as_request(self) -> SearchRequest:
        return replace(super().as_request(), conversation_id=self.conversation_id)
