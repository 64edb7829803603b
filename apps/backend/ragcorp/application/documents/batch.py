"""A batch of documents on its way into the store."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.domain.exceptions import ConflictError, RagcorpError
from ragcorp.domain.ingestion import IngestFailure, IngestOutcome, IngestRequest
from ragcorp.domain.ports.storage import DocumentStore, DocumentWrite
from ragcorp.domain.principal import Principal


@dataclass(slots=True, kw_only=True)
class DocumentBatch:
    """Checked documents of a batch. ``outcomes`` and the others are by position in it, hashes by external_id.

    Documents with parts may be large: one at a time is in memory.
    """

    store: DocumentStore
    preparation: DocumentPreparation
    principal: Principal
    content_hashes: Mapping[str, bytes]
    outcomes: list[IngestOutcome | None]
    waiting: deque[tuple[int, IngestRequest]] = field(default_factory=deque)
    prepared: list[tuple[int, DocumentWrite]] = field(default_factory=list)

    @property
    def is_large(self) -> bool:
        """Whether the document that was prepared last has parts."""
        return bool(self.prepared and self.prepared[-1][1].parts)

    async def prepare(self) -> None:
        """Prepare the waiting documents, up to the first with parts; report those that cannot be read."""
        while self.waiting and not self.is_large:
            position, request = self.waiting.popleft()
            try:
                write = await self.preparation.prepare(request, content_hash=self.content_hashes[request.external_id])
            except RagcorpError as error:
                self.outcomes[position] = IngestFailure(external_id=request.external_id, error=error)
            else:
                self.prepared.append((position, write))

    async def save(self) -> list[IngestOutcome]:
        """Store the documents in one transaction, each with parts in one of its own, prepared here if it waits."""
        while self.is_large or self.waiting:
            if self.is_large:
                await self._save([self.prepared.pop()])
            await self.prepare()
        await self._save(self.prepared)
        return [outcome for outcome in self.outcomes if outcome is not None]

    async def _save(self, writes: Sequence[tuple[int, DocumentWrite]]) -> None:
        if not writes:
            return
        try:
            saved = await self.store.save_many([write for _, write in writes], principal=self.principal)
        except ConflictError as error:
            if len(writes) == 1:
                ((position, write),) = writes
                self.outcomes[position] = IngestFailure(external_id=write.external_id, error=error)
                return
            for pair in writes:  # one document blocks the batch: store them one by one
                await self._save([pair])
            return
        for (position, _), outcome in zip(writes, saved, strict=True):
            self.outcomes[position] = outcome
