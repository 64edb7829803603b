"""Answers and their citations."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from ragcorp.domain.answers import Answer
from ragcorp.interface.shapes.hydration import HydrationBody, hydration_document
from ragcorp.interface.shapes.search import Degraded, degraded_sources
from ragcorp.interface.shapes.unread import Unread, unread_parts
from ragcorp.interface.shapes.values import Identified, filled

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
            "recognition_confidence": None,
            "collection": "artifact_chunks",
        }
    ],
    "degraded": [],
    "incomplete": [],
    "usage": {},
    "rewritten_query": None,
    "hydration": None,
}


class AnswerCitation(TypedDict):
    """Where a [n] of the answer leads."""

    n: int
    chunk_id: Annotated[str, Field(description="The `id` of the result in `collection` that it quotes.")]
    document_id: UUID
    external_id: str
    title: str
    quote: str
    path: str | None
    line_start: int
    line_end: int
    page: int | None
    recognition_confidence: Annotated[
        float | None, Field(ge=0, le=1, description="Of a page whose text was recognised (OCR); null for other text.")
    ]
    collection: str


class IncompleteSource(TypedDict):
    """A document behind an answer that was not read whole: what it lacks may say more."""

    external_id: str
    title: str
    unread: list[Unread]


class CitedAnswer(TypedDict):
    """An answer as the MCP tool returns it."""

    answer: str
    abstained: bool
    citations: list[AnswerCitation]
    degraded: list[Degraded]
    incomplete: Annotated[
        list[IncompleteSource],
        Field(
            description="The cited documents that were not read whole; for an abstention those of the first results, "
            "for a key with the scope `search`."
        ),
    ]


@with_config(ConfigDict(json_schema_extra={"examples": [ANSWER_EXAMPLE]}))
class AnswerBody(Identified, CitedAnswer):
    """An answer, or an abstention where the documents do not hold one."""

    usage: Mapping[str, int]
    rewritten_query: Annotated[
        str | None,
        Field(description="What was asked in place of a follow-up question; null where that is the question itself."),
    ]
    hydration: Annotated[
        HydrationBody | None,
        Field(
            description="What the turn of an episode shows; null without `episode_id`, and for a key without the scope "
            "`search`: `ask` alone shows of the documents what the answer cites."
        ),
    ]


def cited_answer(answer: Answer) -> CitedAnswer:
    return {
        "answer": answer.text,
        "abstained": answer.abstained,
        "citations": [filled(AnswerCitation, citation) for citation in answer.citations],
        "degraded": degraded_sources(answer.degraded),
        "incomplete": [
            filled(IncompleteSource, document, unread=unread_parts(document.unread)) for document in answer.incomplete
        ],
    }


def answer_document(answer: Answer, *, request_id: str) -> AnswerBody:
    """Return the whole answer; ``usage`` counts the tokens of a language model."""
    return {
        "request_id": request_id,
        **cited_answer(answer),
        "usage": answer.usage,
        "rewritten_query": answer.rewritten_query,
        "hydration": hydration_document(answer.hydration),
    }
