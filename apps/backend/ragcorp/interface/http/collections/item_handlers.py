"""What the routes of items do for memory and history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from ragcorp.application.memory.chat_turns import TurnDefaults, TurnReader
from ragcorp.application.validation.item_drafts import content_name
from ragcorp.domain.collections import MAX_ITEM_NAME, Collection, ItemDraft, ItemFailure, ItemOutcome, ItemSelection
from ragcorp.domain.documents import DocumentAttributes, IngestStatus
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import require_length
from ragcorp.interface.collection_use_cases import ItemUseCases
from ragcorp.interface.http.collections.item_patches import MemoryPatch, TurnPatch
from ragcorp.interface.http.collections.item_schema import (
    HistoryTurn,
    ItemListParameters,
    ItemSelectionParameters,
    MemoryBody,
    MemoryItem,
    TurnBody,
    require_no_artifact,
)
from ragcorp.interface.http.protocol.bodies import read_json
from ragcorp.interface.http.protocol.filters import filters_of_text
from ragcorp.interface.http.protocol.json_body import check_json, parse_model
from ragcorp.interface.http.protocol.json_response import json_response
from ragcorp.interface.http.protocol.limits import HttpLimits
from ragcorp.interface.http.services import HttpServices
from ragcorp.interface.http.streams.line_stream import LineHandler, LineOutcome
from ragcorp.interface.shapes.items import item_document, outcome_document

BATCH_ITEMS = 500


class CollectionHandlers(Protocol):
    """What the routes of items do for one collection."""

    async def add(self, request: Request, principal: Principal) -> Response: ...

    async def list(self, query: ItemListParameters, principal: Principal) -> Response: ...

    async def get(self, external_id: str, principal: Principal) -> Response: ...

    async def put(self, external_id: str, request: Request, principal: Principal) -> Response: ...

    async def patch(self, external_id: str, request: Request, principal: Principal) -> Response: ...

    async def delete(self, external_id: str, principal: Principal) -> Response: ...

    async def delete_selection(self, query: ItemSelectionParameters, principal: Principal) -> Response: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemModels:
    """The bodies of a collection: with a name, without one, and partial."""

    named: type[MemoryItem | HistoryTurn]
    unnamed: type[MemoryBody | TurnBody]
    partial: type[MemoryPatch | TurnPatch]


MODELS = {
    Collection.MEMORY: ItemModels(named=MemoryItem, unnamed=MemoryBody, partial=MemoryPatch),
    Collection.HISTORY: ItemModels(named=HistoryTurn, unnamed=TurnBody, partial=TurnPatch),
}


class ItemHandlers:
    """Items of memory or history."""

    def __init__(
        self, *, collection: Collection, use_cases: ItemUseCases, services: HttpServices, limits: HttpLimits
    ) -> None:
        self._collection = collection
        self._models = MODELS[collection]
        self._use_cases = use_cases
        self._services = services
        self._limits = limits

    async def add(self, request: Request, principal: Principal) -> Response:
        body = await read_json(request, self._models.named, self._limits)
        return await self._save(self._draft(body, body.external_id), principal)

    async def put(self, external_id: str, request: Request, principal: Principal) -> Response:
        body = await read_json(request, self._models.unnamed, self._limits)
        return await self._save(self._draft(body, external_id), principal)

    async def patch(self, external_id: str, request: Request, principal: Principal) -> Response:
        _require_name(external_id)
        body = await read_json(request, self._models.partial, self._limits)
        return self._stored(await self._use_cases.save.change(external_id, body.as_change(), principal=principal))

    async def list(self, query: ItemListParameters, principal: Principal) -> Response:
        require_no_artifact(query)
        items, next_cursor = await self._use_cases.items.list(
            self._selection(query), principal=principal, limit=query.limit, cursor=query.cursor
        )
        return json_response({"items": [item_document(item) for item in items], "next_cursor": next_cursor})

    async def get(self, external_id: str, principal: Principal) -> Response:
        _require_name(external_id)
        return json_response(item_document(await self._use_cases.items.get(external_id, principal=principal)))

    async def delete(self, external_id: str, principal: Principal) -> Response:
        _require_name(external_id)
        await self._use_cases.delete.delete(external_id, principal=principal)
        return Response(status_code=204)

    async def delete_selection(self, query: ItemSelectionParameters, principal: Principal) -> Response:
        deleted = await self._use_cases.delete.delete_selection(self._selection(query), principal=principal)
        return json_response({"deleted": deleted})

    def lines(self, principal: Principal) -> LineHandler[ItemDraft]:
        """Return what reads and stores the lines of a bulk request."""

        async def store(drafts: Sequence[ItemDraft]) -> list[LineOutcome]:
            outcomes = await self._use_cases.save.save_many(drafts, principal=principal)
            self._wake(*(outcome for outcome in outcomes if isinstance(outcome, ItemOutcome)))
            return [
                LineOutcome(external_id=outcome.external_id, error=outcome.error)
                if isinstance(outcome, ItemFailure)
                else LineOutcome(external_id=outcome.external_id, status=outcome.status)
                for outcome in outcomes
            ]

        read = self._turn_reader(principal) if self._collection is Collection.HISTORY else self._read
        return LineHandler(
            read=read,
            name_of=attrgetter("external_id"),
            store=store,
            batch_lines=BATCH_ITEMS,
            identity_of=lambda draft: (
                draft.external_id or draft.named_after or content_name(draft, principal=principal)
            ),
        )

    def _turn_reader(self, principal: Principal) -> Callable[[bytes], ItemDraft]:
        attributes = DocumentAttributes(language=self._services.default_language)
        reader = TurnReader(defaults=TurnDefaults(attributes=attributes), principal=principal)

        def read(line: bytes) -> ItemDraft:
            turn = check_json(line, max_depth=self._limits.max_json_depth, field="line")
            if not isinstance(turn, dict):
                raise InvalidInputError(
                    "The line is not a JSON object.", field="line", remedy="Send one JSON object a line."
                )
            return reader.read(turn)

        return read

    def _read(self, line: bytes) -> ItemDraft:
        body = parse_model(line, self._models.named, max_depth=self._limits.max_json_depth, field="line")
        return self._draft(body, body.external_id)

    def _draft(self, body: MemoryBody | TurnBody, external_id: str | None) -> ItemDraft:
        return body.as_draft(external_id=external_id, default_language=self._services.default_language)

    def _selection(self, query: ItemSelectionParameters) -> ItemSelection:
        filters = filters_of_text(query.filters, limits=self._limits)
        return ItemSelection(prefix=query.prefix, filters=filters)

    async def _save(self, draft: ItemDraft, principal: Principal) -> Response:
        return self._stored(await self._use_cases.save.save(draft, principal=principal))

    def _stored(self, outcome: ItemOutcome) -> Response:
        self._wake(outcome)
        created = outcome.status is IngestStatus.CREATED
        return json_response(outcome_document(self._collection, outcome), status=201 if created else 200)

    def _wake(self, *outcomes: ItemOutcome) -> None:
        if any(outcome.status is not IngestStatus.UNCHANGED for outcome in outcomes):
            self._services.wake_embedding()


def _require_name(external_id: str) -> None:
    """Raise InvalidInputError for what no item can be called."""
    require_length(external_id, field="external_id", limit=MAX_ITEM_NAME, minimum=1)
