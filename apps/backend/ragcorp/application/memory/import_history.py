"""Use case: import a chat export, one JSON object a line, into history."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import anyio.to_thread

from ragcorp.application.memory.chat_turns import TurnDefaults, TurnReader
from ragcorp.application.validation.json_lines import BATCH_LINES, LineFailure, LinesDone, LoadReport, read_lines
from ragcorp.domain.collections import ItemDraft
from ragcorp.domain.documents import IngestStatus, WriteOutcome
from ragcorp.domain.ports.use_cases import ItemSaving
from ragcorp.domain.principal import Principal

MAX_NAMED_FAILURES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportHistory:
    """Stores the turns of an export, one transaction per batch. A bad line does not stop the others."""

    save: ItemSaving

    async def import_history(
        self,
        lines: Iterable[bytes],
        *,
        principal: Principal,
        defaults: TurnDefaults,
        on_progress: LinesDone | None = None,
    ) -> LoadReport:
        """Import the lines, read in a worker thread; blank ones are skipped. An interrupted import can be repeated."""
        reader = TurnReader(defaults=defaults, principal=principal)
        counts: Counter[IngestStatus] = Counter()
        failures: list[LineFailure] = []
        left = iter(lines)
        done = failed_lines = 0
        while batch := await anyio.to_thread.run_sync(lambda: tuple(islice(left, BATCH_LINES))):
            saved, failed = await self._store(reader, batch, first=done + 1, principal=principal)
            counts.update(outcome.status for outcome in saved)
            failures += failed[: MAX_NAMED_FAILURES - len(failures)]
            failed_lines += len(failed)
            done += len(batch)
            if on_progress:
                on_progress(done)
        return LoadReport.of(counts, failures, failed=failed_lines)

    async def _store(
        self, reader: TurnReader, batch: Sequence[bytes], *, first: int, principal: Principal
    ) -> tuple[list[WriteOutcome], list[LineFailure]]:
        runs: list[dict[str, tuple[int, ItemDraft]]] = [{}]
        drafts, failures = read_lines(batch, reader.read, first=first)
        for number, draft in drafts:
            name = draft.external_id or draft.named_after or ""
            if name in runs[-1]:  # stored after it, so that no outcome depends on where batches end
                runs.append({})
            runs[-1][name] = (number, draft)
        saved: list[WriteOutcome] = []
        for run in runs:
            outcomes = await self.save.save_many([draft for _, draft in run.values()], principal=principal)
            for (number, _), outcome in zip(run.values(), outcomes, strict=True):
                if isinstance(outcome, WriteOutcome):
                    saved.append(outcome)
                else:
                    failures.append(LineFailure(line=number, error=outcome.error))
        return saved, sorted(failures, key=lambda failure: failure.line)
