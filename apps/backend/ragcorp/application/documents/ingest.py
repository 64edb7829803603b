"""Use case: ingest documents. Text is searchable when it returns; vectors may follow."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcorp.application.documents.preparation import DocumentPreparation, content_hash
from ragcorp.application.validation.attribute_checks import superseded
from ragcorp.domain.exceptions import ConflictError, RagcorpError
from ragcorp.domain.ingestion import IngestFailure, IngestOutcome, IngestRequest, IngestResult
from ragcorp.domain.ports.storage import DocumentStore, DocumentWrite
from ragcorp.domain.ports.use_cases import BacklogEmbedding
from ragcorp.domain.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestDocument:
    """Stores and indexes documents; an equal document stays unchanged."""

    store: DocumentStore
    preparation: DocumentPreparation
    embed_pending: BacklogEmbedding | None
    embed_wait_seconds: float

    async def ingest(
        self, request: IngestRequest, *, principal: Principal, expected: bytes | None = None
    ) -> IngestResult:
        r"""Store a document, one of the content hash ``expected`` if given, and wait briefly for its vectors.

        Raises ConflictError for another hash, and InvalidInputError before anything is written.
        """
        checked = self.preparation.check(request, principal=principal)
        unchanged = await self._unchanged([checked], principal)
        if checked.external_id in unchanged:
            return await self._with_vectors(unchanged[checked.external_id])
        write = await self.preparation.prepare(checked)
        if expected is None:
            (outcome,) = await self.store.save_many([write], principal=principal)
        else:
            outcome = await self.store.replace(write, expected=expected, principal=principal)
        return await self._with_vectors(outcome)

    async def ingest_many(self, requests: Sequence[IngestRequest], *, principal: Principal) -> list[IngestOutcome]:
        """Store a batch in one transaction, documents with parts in one each; report bad documents in their place.

        A repeated name: the last counts.
        """
        outcomes: list[IngestOutcome | None] = [None] * len(requests)
        checked: dict[str, tuple[int, IngestRequest]] = {}
        for position, request in enumerate(requests):
            earlier = checked.pop(request.external_id, None)
            if earlier is not None:
                outcomes[earlier[0]] = IngestFailure(external_id=request.external_id, error=superseded("document"))
            try:
                checked[request.external_id] = (position, self.preparation.check(request, principal=principal))
            except RagcorpError as error:
                outcomes[position] = IngestFailure(external_id=request.external_id, error=error)
        unchanged = await self._unchanged([request for _, request in checked.values()], principal)
        writes: list[tuple[int, DocumentWrite]] = []
        for position, request in checked.values():
            if request.external_id in unchanged:
                outcomes[position] = unchanged[request.external_id]
                continue
            try:
                write = await self.preparation.prepare(request)
            except RagcorpError as error:
                outcomes[position] = IngestFailure(external_id=request.external_id, error=error)
                continue
            if write.parts:  # they may be large: no two at once in memory
                ((_, outcomes[position]),) = await self._save([(position, write)], principal)
            else:
                writes.append((position, write))
        for position, outcome in await self._save(writes, principal):
            outcomes[position] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

    async def _unchanged(self, checked: Sequence[IngestRequest], principal: Principal) -> dict[str, IngestResult]:
        """Return the documents that are stored already: they need not be parsed."""
        hashes: dict[str, dict[str, bytes]] = {}
        for request in checked:
            of_kind = hashes.setdefault(self.preparation.chunker(request.file.filename), {})
            of_kind[request.external_id] = content_hash(request)
        unchanged: dict[str, IngestResult] = {}
        for chunker, of_kind in hashes.items():
            unchanged |= await self.store.find_unchanged(of_kind, chunker=chunker, principal=principal)
        return unchanged

    async def _save(
        self, writes: Sequence[tuple[int, DocumentWrite]], principal: Principal
    ) -> list[tuple[int, IngestOutcome]]:
        if not writes:
            return []
        try:
            saved = await self.store.save_many([write for _, write in writes], principal=principal)
        except ConflictError as error:
            if len(writes) == 1:
                position, write = writes[0]
                return [(position, IngestFailure(external_id=write.external_id, error=error))]
            # one document blocks the batch: store them one by one
            return [outcome for pair in writes for outcome in await self._save([pair], principal)]
        return [(position, outcome) for (position, _), outcome in zip(writes, saved, strict=True)]

    async def _with_vectors(self, result: IngestResult) -> IngestResult:
        if self.embed_pending is None or result.pending == 0 or self.embed_wait_seconds <= 0:
            return result
        try:
            async with asyncio.timeout(self.embed_wait_seconds):
                while not (await self.embed_pending.embed(document_id=result.document_id)).idle:
                    pass
        except TimeoutError:
            pass
        counts = await self.embed_pending.counts(document_id=result.document_id)
        return replace(result, pending=counts.pending)
