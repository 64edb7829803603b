"""What /ask takes and gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from ragcorp.domain.search.requests import MAX_CONVERSATION_ID, SearchRequest
from ragcorp.interface.http.hydration.schema import HydrationBody
from ragcorp.interface.http.search.schema import Degraded, RetrievalFields

ASK_EXAMPLE: dict[str, Any] = {"query": "¿Cuál es el plazo de entrega del contrato marco?", "limit": 8, "stream": False}

ANSWER_EXAMPLE: dict[str, Any] = {
    "request_id": "6f1c",
    "answer": "«El plazo de entrega es de 30 días hábiles.» [1]",
    "abstained": False,
    "citations": [
        {
            "n": 1,
            "chunk_id": "4711",
            "document_id": "0199a1c2-7d3e-7a55-9c1b-2f6f0d1e8a10",
            "external_id": "contratos/marco-2025.md",
            "title": "Contrato marco 2025",
            "quote": "El plazo de entrega es de 30 días hábiles.",
            "path": "contratos/marco-2025.md",
            "line_start": 41,
            "line_end": 41,
            "page": None,
            "collection": "artifact_chunks",
        }
    ],
    "degraded": [],
    "usage": {},
    "rewritten_query": None,
    "hydration": None,
}

EVENTS = """\
A stream of server-sent events, when `stream` is true. `data` is JSON.

| event | data |
|---|---|
| `status` | `{"status": "searching"}`, where the search takes long |
| `status` | `{"status": "answering", "passages", "chunks", "characters", "files", "message"}`, with `rewritten_query` \
where a follow-up was rewritten |
| `search_results` | what /search answers; left out for a key without the scope `search` |
| `message` | `{"delta": "..."}`, the next piece of the answer |
| `citation` | one citation of the answer, each in its turn |
| `final_answer` | the whole answer, as without a stream; the last event of an answer that is complete |
| `error` | a problem; the last event of an answer that broke off |
| `ping` | `{}`, while nothing else is sent |
"""


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


class AnswerCitation(BaseModel):
    """Where a [n] of the answer leads."""

    n: int
    chunk_id: str = Field(description="The `id` of the result in `collection` that it quotes.")
    document_id: UUID
    external_id: str
    title: str
    quote: str
    path: str | None
    line_start: int
    line_end: int
    page: int | None
    collection: str


class AnswerBody(BaseModel):
    """An answer, or an abstention where the documents do not hold one."""

    model_config = ConfigDict(json_schema_extra={"examples": [ANSWER_EXAMPLE]})

    request_id: str
    answer: str
    abstained: bool
    citations: list[AnswerCitation]
    degraded: list[Degraded]
    usage: dict[str, int]
    rewritten_query: str | None = Field(
        description="What was asked in place of a follow-up question; null where that is the question itself."
    )
    hydration: HydrationBody | None = Field(
        description="What the turn of an episode shows; null without `episode_id`, and for a key without the scope "
        "`search`: `ask` alone shows of the documents what the answer cites."
    )
