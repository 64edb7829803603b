"""Use case: ingest documents. Text is searchable when it returns; vectors may follow."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.application.documents.batch import DocumentBatch
from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.validation.attribute_checks import superseded
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.ingestion import IngestFailure, IngestOutcome, IngestRequest, IngestResult
from ragcorp.domain.ports.storage import DocumentStore
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
        hashes = await self.preparation.content_hashes([checked])
        unchanged = await self._unchanged([checked], hashes, principal)
        if checked.external_id in unchanged:
            return await self._with_vectors(unchanged[checked.external_id])
        write = await self.preparation.prepare(checked, content_hash=hashes[checked.external_id])
        if expected is None:
            (outcome,) = await self.store.save_many([write], principal=principal)
        else:
            outcome = await self.store.replace(write, expected=expected, principal=principal)
        return await self._with_vectors(outcome)

    async def ingest_many(self, requests: Sequence[IngestRequest], *, principal: Principal) -> list[IngestOutcome]:
        """Store a batch in one transaction, documents with parts in one each; report bad documents in their place.

        A repeated name: the last counts.
        """
        return await (await self.prepare_many(requests, principal=principal)).save()

    async def prepare_many(self, requests: Sequence[IngestRequest], *, principal: Principal) -> DocumentBatch:
        """Check a batch, and parse and chunk what is not stored yet; its ``save`` does the rest of ``ingest_many``."""
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
        hashes = await self.preparation.content_hashes([request for _, request in checked.values()])
        unchanged = await self._unchanged([request for _, request in checked.values()], hashes, principal)
        batch = DocumentBatch(
            store=self.store,
            preparation=self.preparation,
            principal=principal,
            content_hashes=hashes,
            outcomes=outcomes,
        )
        for position, request in checked.values():
            if request.external_id in unchanged:
                outcomes[position] = unchanged[request.external_id]
            else:
                batch.waiting.append((position, request))
        await batch.prepare()
        return batch

    async def _unchanged(
        self, checked: Sequence[IngestRequest], content_hashes: Mapping[str, bytes], principal: Principal
    ) -> dict[str, IngestResult]:
        """Return the documents that are stored already: they need not be parsed."""
        hashes: dict[str, dict[str, bytes]] = {}
        for request in checked:
            of_kind = hashes.setdefault(self.preparation.chunker(request.file.filename), {})
            of_kind[request.external_id] = content_hashes[request.external_id]
        unchanged: dict[str, IngestResult] = {}
        for chunker, of_kind in hashes.items():
            unchanged |= await self.store.find_unchanged(of_kind, chunker=chunker, principal=principal)
        return unchanged

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
