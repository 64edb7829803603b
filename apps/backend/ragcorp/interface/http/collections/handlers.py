"""Handlers of the items of each collection."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from starlette.responses import Response

from ragcorp.application.documents.edit_chunk import ChunkEdit
from ragcorp.application.memory.chat_turns import TurnDefaults, TurnReader
from ragcorp.application.validation.item_drafts import NAME_DIGITS, content_name
from ragcorp.domain.collections import MAX_ITEM_NAME, Collection, ItemDraft, ItemSelection
from ragcorp.domain.documents import DocumentAttributes, IngestStatus, SaveOutcome, WriteOutcome
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ingestion import IngestResult
from ragcorp.domain.ports.chunks import ChunkSelection
from ragcorp.domain.ports.storage import DocumentSelection
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import require_length
from ragcorp.interface.http.call import Call, json_response
from ragcorp.interface.http.collections import item_patches as patches
from ragcorp.interface.http.collections import item_schema as schema
from ragcorp.interface.http.documents.upload import document_of, read_document
from ragcorp.interface.http.protocol.json_body import line_object, parse_model
from ragcorp.interface.http.protocol.models import Selection
from ragcorp.interface.http.streams.line_stream import LineHandler
from ragcorp.interface.shapes import items as shapes
from ragcorp.interface.use_cases import ItemUseCases

BATCH_ITEMS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemHandlers:
    """Items of memory or history. The models are its bodies: with a name, without one, and partial."""

    collection: Collection
    named: type[schema.MemoryItem | schema.HistoryTurn]
    unnamed: type[schema.MemoryBody | schema.TurnBody]
    partial: type[patches.MemoryPatch | patches.TurnPatch]

    async def add(self, call: Call) -> Response:
        body = await call.json(self.named)
        return await self._save(call, body, body.external_id)

    async def put(self, call: Call, external_id: str) -> Response:
        return await self._save(call, await call.json(self.unnamed), external_id)

    async def patch(self, call: Call, external_id: str) -> Response:
        _require_name(external_id)
        body = await call.json(self.partial)
        saved = await self._use_cases(call).save.change(external_id, body.as_change(), principal=call.principal)
        return self._stored(call, saved)

    async def list(self, call: Call, query: schema.ItemPage) -> Response:
        schema.require_no_artifact(query)
        items, next_cursor = await self._use_cases(call).items.list(
            _selection(call, query), principal=call.principal, limit=query.limit, cursor=query.cursor
        )
        return json_response({"items": [shapes.stored_item(item) for item in items], "next_cursor": next_cursor})

    async def get(self, call: Call, external_id: str) -> Response:
        _require_name(external_id)
        return json_response(
            shapes.stored_item(await self._use_cases(call).items.get(external_id, principal=call.principal))
        )

    async def delete(self, call: Call, external_id: str) -> Response:
        _require_name(external_id)
        await self._use_cases(call).delete.delete(external_id, principal=call.principal)
        return Response(status_code=204)

    async def delete_selection(self, call: Call, query: Selection) -> Response:
        deleted = await self._use_cases(call).delete.delete_selection(_selection(call, query), principal=call.principal)
        return json_response({"deleted": deleted})

    def lines(self, call: Call) -> LineHandler[ItemDraft]:
        async def store(drafts: Sequence[ItemDraft]) -> Sequence[SaveOutcome]:
            outcomes = await self._use_cases(call).save.save_many(drafts, principal=call.principal)
            written = [outcome for outcome in outcomes if isinstance(outcome, WriteOutcome)]
            if any(outcome.status is not IngestStatus.UNCHANGED for outcome in written):
                call.services.wake_embedding()
            return outcomes

        return LineHandler(
            read=self._reader(call),
            name_of=attrgetter("external_id"),
            store=store,
            batch_lines=BATCH_ITEMS,
            identity_of=lambda draft: (
                draft.external_id or draft.named_after or content_name(draft, principal=call.principal)
            ),
        )

    def _use_cases(self, call: Call) -> ItemUseCases:
        return call.use_cases.collections.items_of(self.collection)

    def _reader(self, call: Call) -> Callable[[bytes], ItemDraft]:
        language, max_depth = call.use_cases.default_language, call.limits.max_json_depth
        if self.collection is Collection.HISTORY:
            defaults = TurnDefaults(attributes=DocumentAttributes(language=language))
            turns = TurnReader(defaults=defaults, principal=call.principal)
            return lambda line: turns.read(line_object(line, max_depth=max_depth))

        def read(line: bytes) -> ItemDraft:
            body = parse_model(line, self.named, max_depth=max_depth, field="line")
            return body.as_draft(external_id=body.external_id, default_language=language)

        return read

    async def _save(self, call: Call, body: schema.MemoryBody | schema.TurnBody, external_id: str | None) -> Response:
        draft = body.as_draft(external_id=external_id, default_language=call.use_cases.default_language)
        return self._stored(call, await self._use_cases(call).save.save(draft, principal=call.principal))

    def _stored(self, call: Call, outcome: WriteOutcome) -> Response:
        return call.written(
            shapes.item_outcome(self.collection, outcome),
            created=outcome.status is IngestStatus.CREATED,
            wake=outcome.status is not IngestStatus.UNCHANGED,
        )


MEMORY = ItemHandlers(
    collection=Collection.MEMORY, named=schema.MemoryItem, unnamed=schema.MemoryBody, partial=patches.MemoryPatch
)
HISTORY = ItemHandlers(
    collection=Collection.HISTORY, named=schema.HistoryTurn, unnamed=schema.TurnBody, partial=patches.TurnPatch
)


def _selection(call: Call, query: Selection) -> ItemSelection:
    return ItemSelection(prefix=query.prefix, filters=call.filters(query.filters))


def _require_name(external_id: str) -> None:
    """Raise InvalidInputError for a name that no item can have."""
    require_length(external_id, field="external_id", limit=MAX_ITEM_NAME, minimum=1)


class ArtifactHandlers:
    """Whole documents: the use cases of /documents under the grammar of the collections."""

    async def add(self, call: Call) -> Response:
        call.slot.work_in_parts()
        body = await call.json(schema.ArtifactItem)
        name = body.external_id if body.external_id is not None else _content_name(body, call.principal)
        document = document_of(name, body, default_language=call.use_cases.default_language)
        return _ingested(call, await call.ingest(document))

    async def put(self, call: Call, external_id: str) -> Response:
        call.slot.work_in_parts()
        return _ingested(call, await call.ingest(await read_document(call, external_id)))

    async def patch(self, call: Call, external_id: str) -> Response:
        body = await call.json(patches.ArtifactPatch)

        async def revised() -> IngestResult:
            async with call.indexing(size=len((body.new_text or "").encode())):
                return await call.use_cases.collections.revise_document.revise(
                    external_id, body.as_change(), text=body.new_text, principal=call.principal
                )

        return _ingested(call, await call.unless_disconnected(revised()))

    async def list(self, call: Call, query: schema.ItemPage) -> Response:
        schema.require_no_artifact(query)
        documents, next_cursor = await call.use_cases.documents.list(
            _documents(call, query), principal=call.principal, limit=query.limit, cursor=query.cursor
        )
        return json_response(
            {"items": [shapes.stored_artifact(document) for document in documents], "next_cursor": next_cursor}
        )

    async def get(self, call: Call, external_id: str) -> Response:
        document = await call.use_cases.documents.get(external_id, principal=call.principal)
        return json_response(shapes.stored_artifact(document))

    async def delete(self, call: Call, external_id: str) -> Response:
        await call.use_cases.delete.delete(external_id, principal=call.principal)
        return Response(status_code=204)

    async def delete_selection(self, call: Call, query: Selection) -> Response:
        deleted = await call.use_cases.delete.delete_selection(_documents(call, query), principal=call.principal)
        return json_response({"deleted": deleted})


class ChunkHandlers:
    """Passages: to write one is to write its artifact."""

    async def add(self, call: Call) -> Response:
        body = await call.json(patches.NewChunk)
        async with call.indexing():
            edit = await call.use_cases.collections.edit_chunk.add(
                body.external_id, body.text, after=body.after, principal=call.principal
            )
        return _edited(call, edit, created=True)

    async def put(self, call: Call, external_id: str) -> Response:
        body = await call.json(patches.ChunkBody)
        async with call.indexing():
            edit = await call.use_cases.collections.edit_chunk.replace(external_id, body.text, principal=call.principal)
        return _edited(call, edit)

    patch = put

    async def list(self, call: Call, query: schema.ItemPage) -> Response:
        selection = ChunkSelection(prefix=query.prefix, artifact=query.artifact, filters=call.filters(query.filters))
        chunks, next_cursor = await call.use_cases.collections.chunks.list(
            selection, principal=call.principal, limit=query.limit, cursor=query.cursor
        )
        return json_response({"items": [shapes.stored_chunk(chunk) for chunk in chunks], "next_cursor": next_cursor})

    async def get(self, call: Call, external_id: str) -> Response:
        chunk = await call.use_cases.collections.chunks.get(external_id, principal=call.principal)
        return json_response(shapes.stored_chunk(chunk))

    async def delete(self, call: Call, external_id: str) -> Response:
        async with call.indexing():
            edit = await call.use_cases.collections.edit_chunk.remove(external_id, principal=call.principal)
        return _edited(call, edit)

    async def delete_selection(self, call: Call, query: Selection) -> Response:
        del call, query
        raise InvalidInputError(
            "Passages are removed one by one.",
            field="collection",
            limit=f"{Collection.ARTIFACTS}, {Collection.MEMORY}, {Collection.HISTORY}",
            remedy="Delete a passage by its id, or whole artifacts.",
        )


def _documents(call: Call, query: Selection) -> DocumentSelection:
    return DocumentSelection(prefix=query.prefix, filters=call.filters(query.filters))


def _ingested(call: Call, result: IngestResult) -> Response:
    created = result.status is IngestStatus.CREATED
    return call.written(shapes.artifact_outcome(result), created=created, wake=result.pending > 0)


def _edited(call: Call, edit: ChunkEdit, *, created: bool = False) -> Response:
    return call.written(shapes.chunk_edited(edit), created=created, wake=edit.artifact.pending > 0)


def _content_name(body: schema.ArtifactItem, principal: Principal) -> str:
    """Return a name derived from the content and its readers (see item_drafts.content_name)."""
    parts = (body.text, body.sensitivity, body.visibility_scope, body.owner, principal.subject)
    return hashlib.sha256("\0".join(parts).encode("utf-8", errors="replace")).hexdigest()[:NAME_DIGITS]
