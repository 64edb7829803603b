"""Use case: extract facts from chunks with a language model. Holds no connection while it runs."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ragcorp.application.upkeep.task_progress import Report
from ragcorp.application.validation.attribute_checks import require_external_id
from ragcorp.domain.exceptions import AnswererUnavailableError, InvalidInputError, NotConfiguredError
from ragcorp.domain.extraction import Extraction, ExtractionReport, ExtractionTask
from ragcorp.domain.ports.graph import ExtractionStore, FactExtractor
from ragcorp.domain.principal import Principal

logger = logging.getLogger(__name__)

BATCH_CHUNKS = 20
FAILURES_IN_A_ROW = 3
"""After this many the model counts as unavailable: the run ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractFacts:
    """Reads each chunk once per model and prompt version; equal text elsewhere needs no second call.

    ``require_budget`` raises where the caller has no tokens left.
    """

    extractor: FactExtractor | None
    store: ExtractionStore
    require_budget: Callable[[], Awaitable[None]] | None = None

    async def extract(
        self,
        *,
        principal: Principal,
        document: str | None = None,
        limit: int | None = None,
        on_progress: Report | None = None,
    ) -> ExtractionReport:
        """Read up to ``limit`` chunks. Raises NotConfiguredError, NotFoundError or AnswererUnavailableError."""
        extractor = self.extractor
        if extractor is None:
            raise NotConfiguredError(
                "no language model is configured.",
                field="ANSWER_PROVIDER",
                remedy="Set ANSWER_PROVIDER=openai and ANSWER_MODEL; facts are never made up without one.",
            )
        if document is not None:
            require_external_id(document)
        if limit is not None and limit < 1:
            raise InvalidInputError.out_of_range("limit", "1 or more", remedy="Leave it out.")
        version = extractor.version
        waiting = await self.store.count_waiting(version, principal=principal, document=document)
        total = waiting if limit is None else min(waiting, limit)
        removed = await self.store.remove_stale(principal=principal)
        counts = Counter[str](chunks=0, reused=0, failed=0, facts=0, dropped=0)
        after = in_a_row = 0
        while counts["chunks"] + counts["failed"] < total:
            room = min(BATCH_CHUNKS, total - counts["chunks"] - counts["failed"])
            tasks = await self.store.waiting(version, principal=principal, document=document, limit=room, after=after)
            if not tasks:
                break
            for task in tasks:
                after = task.chunk_id
                in_a_row = 0 if await self._one(task, extractor, counts, principal, in_a_row) else in_a_row + 1
                if on_progress:
                    on_progress(counts["chunks"] + counts["failed"], total)
        return ExtractionReport(
            **counts,
            removed=removed,
            remaining=await self.store.count_waiting(version, principal=principal, document=document),
        )

    async def _one(
        self, task: ExtractionTask, extractor: FactExtractor, counts: Counter[str], principal: Principal, in_a_row: int
    ) -> bool:
        extraction: Extraction
        if task.cached is not None:
            extraction = task.cached
            counts["reused"] += 1
        else:
            if self.require_budget is not None:
                await self.require_budget()
            try:
                extraction = await extractor.extract(title=task.title, text=task.content)
            except AnswererUnavailableError as error:
                logger.warning("extraction from a chunk failed: %s", error.reason)
                if error.reason not in ("bad_response", "cut") or in_a_row + 1 >= FAILURES_IN_A_ROW:
                    raise
                counts["failed"] += 1
                return False
            counts["dropped"] += extraction.dropped
        counts["facts"] += await self.store.store(task, extraction, version=extractor.version, principal=principal)
        counts["chunks"] += 1
        return True
