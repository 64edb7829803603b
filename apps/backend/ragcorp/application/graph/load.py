"""Use case: load entities and facts, one JSON object a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import anyio.to_thread

from ragcorp.application.graph.lines import read_draft
from ragcorp.application.validation.json_lines import BATCH_LINES, LineFailure, LinesDone, read_object
from ragcorp.domain.documents import IngestStatus
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.graph import EntityDraft, FactDraft, GraphFailure, GraphOutcome
from ragcorp.domain.ports.graph import EntitySaving, FactSaving
from ragcorp.domain.principal import Principal

GraphDraft = EntityDraft | FactDraft

UNKNOWN_ENTITY = ("subject.external_id", "object.external_id")
"""Fields of errors about an entity that a later line may define."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLoad:
    """Lines by status, and the bad ones in order."""

    created: int
    updated: int
    unchanged: int
    failures: tuple[LineFailure, ...]


class LoadGraph:
    """Stores entities and facts in batches. A bad one does not stop the others."""

    def __init__(self, *, entities: EntitySaving, facts: FactSaving, default_language: str) -> None:
        self._entities = entities
        self._facts = facts
        self._default_language = default_language

    def read(self, line: Mapping[str, object]) -> GraphDraft:
        """Return the entity or fact of a line. Raises InvalidInputError."""
        return read_draft(line, default_language=self._default_language)

    async def store(self, drafts: Sequence[GraphDraft], *, principal: Principal) -> list[GraphOutcome | GraphFailure]:
        """Store a batch, its entities first; return the outcomes in order."""
        outcomes: dict[int, GraphOutcome | GraphFailure] = {}
        entities = {place: draft for place, draft in enumerate(drafts) if isinstance(draft, EntityDraft)}
        facts = {place: draft for place, draft in enumerate(drafts) if isinstance(draft, FactDraft)}
        if entities:
            saved = await self._entities.save_many(list(entities.values()), principal=principal)
            outcomes |= zip(entities, saved, strict=True)
        if facts:
            saved = await self._facts.save_many(list(facts.values()), principal=principal)
            outcomes |= zip(facts, saved, strict=True)
        return [outcomes[place] for place in range(len(drafts))]

    async def load(
        self, lines: Iterable[bytes], *, principal: Principal, on_progress: LinesDone | None = None
    ) -> GraphLoad:
        """Load the lines, read in a worker thread; blank ones are skipped. An interrupted load can be repeated.

        A fact may precede the entity that it names by external_id. Raises StorageUnavailableError; stored lines stay.
        """
        counts: Counter[IngestStatus] = Counter()
        failures: list[LineFailure] = []
        early: list[tuple[int, GraphDraft]] = []
        left = iter(lines)
        done = 0
        while batch := await anyio.to_thread.run_sync(lambda: tuple(islice(left, BATCH_LINES))):
            read, bad = self._read_all(batch, first=done + 1)
            failures += bad
            for line, outcome in await self._store(read, principal):
                if isinstance(outcome, GraphOutcome):
                    counts[outcome.status] += 1
                elif outcome.error.field in UNKNOWN_ENTITY:
                    early.append((line, dict(read)[line]))
                else:
                    failures.append(LineFailure(line=line, error=outcome.error))
            done += len(batch)
            if on_progress:
                on_progress(done)
        for start in range(0, len(early), BATCH_LINES):
            for line, outcome in await self._store(early[start : start + BATCH_LINES], principal):
                if isinstance(outcome, GraphOutcome):
                    counts[outcome.status] += 1
                else:
                    failures.append(LineFailure(line=line, error=outcome.error))
        return GraphLoad(
            created=counts[IngestStatus.CREATED],
            updated=counts[IngestStatus.UPDATED],
            unchanged=counts[IngestStatus.UNCHANGED],
            failures=tuple(sorted(failures, key=lambda failure: failure.line)),
        )

    def _read_all(
        self, batch: Sequence[bytes], *, first: int
    ) -> tuple[list[tuple[int, GraphDraft]], list[LineFailure]]:
        read: list[tuple[int, GraphDraft]] = []
        bad: list[LineFailure] = []
        for number, line in enumerate(batch, start=first):
            if not line.strip():
                continue
            try:
                read.append((number, self.read(read_object(line))))
            except RagcorpError as error:
                bad.append(LineFailure(line=number, error=error))
        return read, bad

    async def _store(
        self, numbered: Sequence[tuple[int, GraphDraft]], principal: Principal
    ) -> list[tuple[int, GraphOutcome | GraphFailure]]:
        outcomes = await self.store([draft for _, draft in numbered], principal=principal)
        return [(line, outcome) for (line, _), outcome in zip(numbered, outcomes, strict=True)]
