"""POST /ask, as JSON or as a stream of events, and GET /context."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Annotated, Any, cast

from fastapi import Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from ragcorp.application.memory.load_context import DEFAULT_QUERY, MAX_CONTEXT_ITEMS
from ragcorp.domain.answers import Answer, AnswerDelta, AskEvent, Searched, final_answer
from ragcorp.domain.collections import MAX_ITEM_NAME
from ragcorp.domain.keys import Scope
from ragcorp.domain.search.requests import MAX_CONVERSATION_ID, SearchRequest, SearchResponse
from ragcorp.interface.http.call import Call, CurrentCall, json_response, operations
from ragcorp.interface.http.layers.admission import RequestSlot
from ragcorp.interface.http.protocol.descriptions import problems
from ragcorp.interface.http.protocol.models import Parameters
from ragcorp.interface.http.protocol.request_scope import caller_of
from ragcorp.interface.http.search.routes import RetrievalFields, search_event
from ragcorp.interface.http.streams.event_stream import EVENT_STREAM, BegunWork, Event, EventStream
from ragcorp.interface.shapes.answers import AnswerBody, AnswerCitation, answer_document
from ragcorp.interface.shapes.memory import ContextBody, context_document
from ragcorp.interface.shapes.search import search_results
from ragcorp.interface.shapes.values import filled

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


Events = AsyncGenerator[AskEvent, None]

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

router = operations("search")


@router.post(
    "/ask",
    summary="Ask a question",
    description=EVENTS,
    response_model=AnswerBody,
    responses={200: EVENT_STREAM, **problems(413, 415, 422, 503, 504)},
)
async def ask(body: AskBody, call: CurrentCall) -> Response:
    await call.slot.open_stream()  # a model may write as long without a stream
    if body.stream:
        return await _stream(body.as_request(), call)
    call.allow(call.limits.ask_timeout_seconds)
    answer = await call.unless_disconnected(_answer(body.as_request(), call))
    return json_response(_answer_body(answer, call))


async def _answer(request: SearchRequest, call: Call) -> Answer:
    def searched(response: SearchResponse) -> None:
        call.slot.release()
        call.metrics.count_search(response)

    return await final_answer(call.use_cases.answer.stream(request, principal=call.principal), on_search=searched)


async def _stream(request: SearchRequest, call: Call) -> Response:
    """Search first: a failure before the stream begins is an ordinary response with its own status."""
    events = call.use_cases.answer.stream(request, principal=call.principal)
    work = await BegunWork.begin(_first(events, call.slot))

    async def close() -> None:
        await work.close()
        await events.aclose()

    try:
        limits = call.limits
        begins_within = min(limits.stream_begins_seconds, limits.ping_seconds, limits.request_timeout_seconds / 2)
        arrived = await call.unless_disconnected(work.arrives_within(begins_within))
    except BaseException:
        await close()
        raise
    return EventStream(
        _events(work, events, call, waiting=not arrived),
        close=close,
        request_id=call.request_id,
        limits=limits,
        seconds=limits.ask_timeout_seconds + limits.write_timeout_seconds,
    )


async def _events(
    work: BegunWork[Searched], events: Events, call: Call, *, waiting: bool
) -> AsyncGenerator[Event, None]:
    if waiting:
        yield "status", {"status": "searching"}
    searched = await work.result(seconds=call.limits.ask_timeout_seconds)
    call.metrics.count_search(searched.response)
    status = {"status": "answering", **search_event(searched.response)}
    if searched.rewritten_query is not None:
        status["rewritten_query"] = searched.rewritten_query
    yield "status", status
    if _may_search(call):
        yield "search_results", search_results(searched.response, request_id=call.request_id)
    async for event in events:
        if isinstance(event, AnswerDelta):
            yield "message", {"delta": event.text}
        elif isinstance(event, Answer):
            for citation in event.citations:
                yield "citation", filled(AnswerCitation, citation)
            yield "final_answer", _answer_body(event, call)


async def _first(events: Events, slot: RequestSlot) -> Searched:
    searched = cast("Searched", await anext(events))
    slot.release()  # from here on only the model works, without a connection
    return searched


def _may_search(call: Call) -> bool:
    """Return whether the caller may see passages that the answer does not cite."""
    return Scope.SEARCH in caller_of(call.request.scope).scopes


def _answer_body(answer: Answer, call: Call) -> AnswerBody:
    if not _may_search(call):
        answer = replace(answer, hydration=None, incomplete=() if answer.abstained else answer.incomplete)
    return answer_document(answer, request_id=call.request_id)


class ContextParameters(Parameters):
    """What to remember, as query parameters."""

    query: str = Field(DEFAULT_QUERY, description="What the conversation is about.")
    limit: int | None = Field(
        None, ge=1, le=MAX_CONTEXT_ITEMS, description="Items at most; left out: DEFAULT_RESULT_LIMIT."
    )
    session: str | None = Field(None, min_length=1, max_length=MAX_ITEM_NAME, description="Of one session only.")


@router.get(
    "/context",
    summary="Recall what a conversation is about",
    description="Memories, turns of conversations and facts as a briefing for a language model's prompt. An empty "
    "memory is an empty briefing.",
    response_model=ContextBody,
    responses=problems(422, 503),
)
async def load_context(query: Annotated[ContextParameters, Query()], call: CurrentCall) -> Response:
    loading = call.use_cases.context.load(
        query.query, limit=query.limit, session=query.session, principal=call.principal
    )
    context = await call.unless_disconnected(loading)
    call.metrics.count_search(context.response)
    return json_response(context_document(context, request_id=call.request_id))
