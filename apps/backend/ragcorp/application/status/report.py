"""Use case: report the service's status to one caller in bounded time."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from ragcorp.application.resilience.circuit_breaker import CircuitState
from ragcorp.application.resilience.source_reports import reason_of
from ragcorp.application.resilience.time_bound import run_until
from ragcorp.application.retrieval.sources.chunks import VECTORS_PENDING
from ragcorp.application.retrieval.steps.reranking import STEP as RERANK
from ragcorp.domain.embeddings import BacklogCounts
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.keys import Scope
from ragcorp.domain.ports.status import ContentCounter, DatabaseLook
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.sources import BUILT_IN, DENSE, FULL_TEXT, GREP, OWN_SOURCES
from ragcorp.domain.status import ContentCounts, Flag, Overall, PartState, PartStatus, ServiceStatus

ANSWERER = "answerer"
DATABASE = "database"

STATISTICS_STALE = "statistics_stale"

LABELS = {
    DATABASE: "The database",
    **{name: source.label for name, source in BUILT_IN.items()},
    RERANK: "Reranking",
    ANSWERER: "The answerer",
}

FAILURES = {
    "timeout": "did not answer in time",
    "unreachable": "could not be reached",
    "rate_limited": "exceeded the rate limit of its server",
    "unauthorized": "was refused by its server: the key is not right",
    "model_not_found": "is unknown to its server",
    "server_error": "failed with an error of its server",
    "bad_response": "gave an invalid answer",
    "cut": "broke off",
}
"""Outcome of a model's latest call, by reason."""


def name_of(source: str) -> str:
    """Return the label of a component, to start a sentence with."""
    return LABELS.get(source, f"The source {source}")


def failed(source: str, reason: str) -> str:
    """Return the message for a model whose latest call failed."""
    return f"{name_of(source)} {FAILURES.get(reason, 'failed')} in its latest call."


def waits(source: str, waiting: BacklogCounts) -> str:
    """Return the message for a source that lacks vectors."""
    message = f"{name_of(source)} does not find everything yet: {_texts(waiting.pending)} for a vector"
    return f"{message}, {waiting.failed:,} of which the model refused." if waiting.failed else f"{message}."


def _texts(number: int) -> str:
    return "1 text waits" if number == 1 else f"{number:,} texts wait"


SECONDS = 1.8
"""The report omits what is unknown by then: the caller is waiting, and a database that hangs may take minutes."""

SLOW = frozenset({"timeout", "busy", "pool_exhausted"})
"""Reasons for which counting may fail although the database answers."""

WAITING = {name: source.vectors for name, source in BUILT_IN.items() if source.vectors is not None}
"""The collection whose vectors a source searches."""

WITHOUT = {ANSWERER: "an answer fails", RERANK: "results come in the order that they had before"}
"""Effect of a failing model; without an embedder, full-text sources remain."""

Turn = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """Facts that do not change: the parts that are ``off``, and the enabled ``models`` that are not sources."""

    version: str
    model: str | None
    off: tuple[PartStatus, ...]
    models: tuple[str, ...]
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportStatus:
    """Reports the state of the parts, by circuits and by the reason of each model's latest failed call."""

    facts: ServiceFacts
    circuits: Callable[[], Mapping[str, str]]
    failed_calls: Callable[[], Mapping[str, str]]
    look: DatabaseLook
    counter: ContentCounter
    seconds: float = SECONDS

    async def report(self, *, principal: Principal, turn: Turn = nullcontext) -> ServiceStatus:
        """Return the status; no outage raises. Counting, which costs the database most, is done inside ``turn()``."""
        deadline = asyncio.get_running_loop().time() + self.seconds
        looked, counted = await asyncio.gather(
            self._looked(deadline), self._counted(principal, turn, deadline=deadline)
        )
        counts = counted if isinstance(counted, ContentCounts) else None
        troubles = {part.source: part for part in looked}
        if isinstance(counted, PartStatus) and DATABASE not in troubles:
            troubles[DATABASE] = counted
        parts = tuple(self._parts(troubles, counts, principal))
        return ServiceStatus(
            overall=overall(parts),
            version=self.facts.version,
            parts=parts,
            counts=counts,
            model=self.facts.model,
            flags=self.facts.flags,
        )

    async def _looked(self, deadline: float) -> Sequence[PartStatus]:
        try:
            return await run_until(deadline, self.look())
        except TimeoutError:
            return (database_out("timeout", "The database did not answer in time.", "`ragcorp doctor` tells more."),)
        except RagcorpError as error:
            return (database_out(reason_of(error), error.message, error.remedy),)

    async def _counted(self, principal: Principal, turn: Turn, *, deadline: float) -> ContentCounts | PartStatus:
        async def count() -> ContentCounts:
            async with turn():
                return await self.counter.count(principal=principal)

        try:
            return await run_until(deadline, count())
        except TimeoutError:
            return _slow("timeout")
        except RagcorpError as error:
            reason = reason_of(error)
            return _slow(reason) if reason in SLOW else database_out(reason, error.message, error.remedy)

    def _parts(
        self, troubles: Mapping[str, PartStatus], counts: ContentCounts | None, principal: Principal
    ) -> Iterator[PartStatus]:
        database = troubles.get(DATABASE, PartStatus(source=DATABASE))
        yield database
        off = {part.source: part for part in self.facts.off}
        circuits, failures = self.circuits(), self.failed_calls()
        for source in dict.fromkeys((*circuits, *(name for name in off if name in OWN_SOURCES))):
            if source == GREP and not principal.may_read_files:
                yield _unreachable_with_this_key(source)
            elif source in off:
                yield off[source]
            elif database.state is PartState.OUT and source in OWN_SOURCES:
                yield _without_database(source, database)
            elif source in troubles:
                yield troubles[source]
            elif source in failures and circuits[source] == CircuitState.CLOSED:
                yield _last_call(source, failures[source])
            else:
                yield _by_itself(source, circuits[source], counts)
        for source in self.facts.models:
            yield _last_call(source, failures.get(source))
        yield from (part for source, part in off.items() if source not in OWN_SOURCES)


def overall(parts: Iterable[PartStatus]) -> Overall:
    """Return the state of the whole; parts that are off by configuration do not degrade it."""
    by_name = {part.source: part.state for part in parts}
    finds = {PartState.OK, PartState.DEGRADED}
    if by_name.get(DATABASE) is PartState.OUT or not finds & {by_name.get(DENSE), by_name.get(FULL_TEXT)}:
        return Overall.UNAVAILABLE
    return Overall.OK if set(by_name.values()) <= {PartState.OK, PartState.OFF} else Overall.DEGRADED


def database_out(reason: str, says: str, remedy: str | None) -> PartStatus:
    return PartStatus(source=DATABASE, state=PartState.OUT, reason=reason, says=says, remedy=remedy)


def _slow(reason: str) -> PartStatus:
    return PartStatus(
        source=DATABASE,
        state=PartState.DEGRADED,
        reason=reason,
        says="The database is busy or slow: its contents could not be counted in time.",
        remedy="Look again in a moment; if this lasts, `ragcorp doctor` tells more.",
    )


def _unreachable_with_this_key(source: str) -> PartStatus:
    return PartStatus(
        source=source,
        state=PartState.OFF,
        reason=f"scope:{Scope.TOOLS}",
        says=f"{name_of(source)} is not for this key.",
        remedy=f"Use a key with the scope `{Scope.TOOLS}`.",
    )


def _without_database(source: str, database: PartStatus) -> PartStatus:
    return PartStatus(
        source=source,
        state=PartState.OUT,
        reason=database.reason,
        says=f"{name_of(source)} does not work without the database.",
        remedy=database.remedy,
    )


def _by_itself(source: str, circuit: str, counts: ContentCounts | None) -> PartStatus:
    if circuit == CircuitState.OPEN:
        return PartStatus(
            source=source,
            state=PartState.OUT,
            reason="circuit_open",
            says=f"{name_of(source)} failed several times in a row and is left alone for a while.",
            remedy="It is tried again by itself; if this lasts, the service's log and `ragcorp doctor` tell more.",
        )
    if circuit == CircuitState.HALF_OPEN:
        return PartStatus(
            source=source,
            state=PartState.DEGRADED,
            reason="circuit_half_open",
            says=f"{name_of(source)} failed several times in a row; the next search tries it again.",
            remedy="Search for something, and look again.",
        )
    if counts is not None and counts.statistics_are_stale and source == FULL_TEXT:
        return PartStatus(
            source=source,
            state=PartState.DEGRADED,
            reason=STATISTICS_STALE,
            says=f"{name_of(source)} ranks by word counts of an earlier state of the passages.",
            remedy="Search for something: the counts are refreshed in the background.",
        )
    waiting = None if counts is None or source not in WAITING else counts.waiting.get(WAITING[source])
    if waiting is not None and waiting.pending:
        return _pending(source, waiting)
    return PartStatus(source=source)


def _pending(source: str, waiting: BacklogCounts) -> PartStatus:
    remedy = "Wait: the service makes them in the background. Until then these texts are found by their words."
    if waiting.failed:
        remedy = "`ragcorp embed --pending` tries those that were refused again, and says what is wrong with them."
    return PartStatus(
        source=source, state=PartState.DEGRADED, reason=VECTORS_PENDING, says=waits(source, waiting), remedy=remedy
    )


def _last_call(source: str, reason: str | None) -> PartStatus:
    if reason is None:
        return PartStatus(source=source)
    without = WITHOUT.get(source, "results are found by their words")
    return PartStatus(
        source=source,
        state=PartState.DEGRADED,
        reason=reason,
        says=failed(source, reason),
        remedy=f"Check its address, key and model (`ragcorp doctor`); while it fails, {without}.",
    )
