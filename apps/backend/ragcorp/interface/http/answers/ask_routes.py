"""POST /ask, as JSON or as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, cast

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ragcorp.domain.answers import Answer, AnswerDelta, AskEvent, Searched, final_answer
from ragcorp.domain.keys import Scope
from ragcorp.domain.ports.use_cases import QuestionAnswering
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest, SearchResponse
from ragcorp.interface.http.answers.ask_schema import EVENTS, AnswerBody, AskBody
from ragcorp.interface.http.layers.admission import CurrentSlot, RequestSlot
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.bodies import allow, read_json
from ragcorp.interface.http.protocol.descriptions import problems, request_body
from ragcorp.interface.http.protocol.disconnect import unless_client_leaves
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.protocol.principal import CurrentPrincipal, caller_of
from ragcorp.interface.http.protocol.request_id import request_id_of
from ragcorp.interface.http.search.routes import found_status, search_results
from ragcorp.interface.http.streams.event_stream import EVENT_STREAM, BegunWork, Event, EventStream
from ragcorp.interface.shapes.answers import answer_document, citation_document

Events = AsyncGenerator[AskEvent, None]


class AskRoutes:
    """Answers over HTTP."""

    def __init__(self, *, answer: QuestionAnswering, limits: HttpLimits, metrics: HttpMetrics) -> None:
        self._answer = answer
        self._limits = limits
        self._metrics = metrics

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(
            "/ask",
            self.ask,
            methods=["POST"],
            operation_id="ask",
            summary="Ask a question",
            description=EVENTS,
            tags=["search"],
            response_model=AnswerBody,
            responses={
                200: EVENT_STREAM,
                **problems(413, 415, 422, 503, 504),
            },
            openapi_extra=request_body(AskBody),
        )

    async def ask(self, request: Request, principal: CurrentPrincipal, slot: CurrentSlot) -> Response:
        body = await read_json(request, AskBody, self._limits)
        request_id = request_id_of(request.scope)
        slot.open_stream()  # without a stream, too, a model may write for as long
        if body.stream:
            return await self._stream(request, body.as_request(), principal, slot)
        allow(request, self._limits.ask_timeout_seconds)
        answer = await unless_client_leaves(request, self._whole(body.as_request(), principal, slot))
        return json_response(_answer_json(answer, request_id, whole=_may_search(request)))

    async def _whole(self, request: SearchRequest, principal: Principal, slot: RequestSlot) -> Answer:
        def searched(response: SearchResponse) -> None:
            slot.give_back()
            self._metrics.count_search(response)

        return await final_answer(self._answer.stream(request, principal=principal), on_search=searched)

    async def _stream(
        self, request: Request, asked: SearchRequest, principal: Principal, slot: RequestSlot
    ) -> Response:
        """Search first: what fails before the stream begins is an ordinary response with its status."""
        request_id = request_id_of(request.scope)
        events = self._answer.stream(asked, principal=principal)
        work = await BegunWork.begin(_first(events, slot))

        async def close() -> None:
            await work.close()
            await events.aclose()

        try:
            limits = self._limits
            begins_within = min(limits.stream_begins_seconds, limits.ping_seconds, limits.request_timeout_seconds / 2)
            found = await unless_client_leaves(request, work.arrives_within(begins_within))
        except BaseException:
            await close()
            raise
        return EventStream(
            self._told(work, events, request_id, waiting=not found, whole=_may_search(request)),
            close=close,
            request_id=request_id,
            limits=limits,
            seconds=limits.ask_timeout_seconds + limits.write_timeout_seconds,
        )

    async def _told(
        self, work: BegunWork[Searched], events: Events, request_id: str, *, waiting: bool, whole: bool
    ) -> AsyncGenerator[Event, None]:
        if waiting:
            yield "status", {"status": "searching"}
        searched = await work.result(seconds=self._limits.ask_timeout_seconds)
        self._metrics.count_search(searched.response)
        yield "status", _status(searched)
        if whole:
            yield "search_results", search_results(searched.response, request_id)
        async for event in events:
            if isinstance(event, AnswerDelta):
                yield "message", {"delta": event.text}
            elif isinstance(event, Answer):
                for citation in event.citations:
                    yield "citation", citation_document(citation)
                yield "final_answer", _answer_json(event, request_id, whole=whole)


async def _first(events: Events, slot: RequestSlot) -> Searched:
    searched = cast("Searched", await anext(events))
    slot.give_back()  # from here on a model speaks, and no connection is held
    return searched


def _may_search(request: Request) -> bool:
    """Say whether the caller may see passages beside those that an answer cites."""
    return Scope.SEARCH in caller_of(request.scope).scopes


def _answer_json(answer: Answer, request_id: str, *, whole: bool) -> dict[str, Any]:
    """Return the JSON of AnswerBody; unless it is the ``whole`` answer, without what a turn shows beside it."""
    return {"request_id": request_id, **answer_document(answer if whole else replace(answer, hydration=None))}


def _status(searched: Searched) -> dict[str, Any]:
    status = {"status": "answering", **found_status(searched.response)}
    return status if searched.rewritten_query is None else status | {"rewritten_query": searched.rewritten_query}
