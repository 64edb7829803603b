"""Asks sources side by side, each under a deadline, and reports what became of each."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ragcorp.application.resilience.circuit_breaker import Admission, CircuitBreaker, Verdict
from ragcorp.application.resilience.degradation_log import log_outage
from ragcorp.domain.exceptions import (
    ConfigurationError,
    InvalidInputError,
    InvalidRankingError,
    SourceUnavailableError,
)
from ragcorp.domain.files.values import FILES
from ragcorp.domain.filters import fields_of, narrowed_to
from ragcorp.domain.keys import Scope
from ragcorp.domain.ports.sources import RetrievalSource, SourceAnswer, SourceQuery, SourceResult
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION, RankedList, SourceOutcome, SourceReport
from ragcorp.domain.search.requests import QuerySyntax
from ragcorp.domain.search.sources import OWN_SOURCES
from ragcorp.tracing import ParentSpan

logger = logging.getLogger(__name__)

FILTERED = "filter:"
"""Begins the reason of a source that was left out by the filters; the fields that it lacks follow."""
OPERATORS = "syntax:"
"""Begins the reason of a source that was left out by the query's syntax, whose name follows."""
SCOPED = "scope:"
"""Begins the reason of a source that the caller's key leaves out; the scope that it lacks follows."""
CIRCUIT_OPEN = "circuit_open"
NOT_CONFIGURED = "not_configured"

NO_EMBEDDER = "no_embedder"

NO_FAULT_OF_ITS_OWN = frozenset({NO_EMBEDDER, "pool_exhausted"})
"""Reasons of a source that is out for good, at once, and of one that never got a connection: to skip it would save
nothing and hide why."""
LONG_QUERY = 400
"""A query of more characters, or with filters, may be what takes too long."""

Identify = Callable[[RankedList, Principal], Awaitable[RankedList]]
_Asked = asyncio.Task[SourceResult | InvalidInputError]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What one source is asked, and the seconds that it has."""

    source: RetrievalSource
    query: SourceQuery
    seconds: float


class SourceFanOut:
    """Runs sources in parallel. A slow one is cut off; a failing one is reported; neither disturbs the others.

    A source has the seconds that ``timeouts`` gives it, by name, else ``source_timeout_seconds``. One that goes on
    failing is skipped for a while, as ``breaker`` says. Raises ConfigurationError.
    """

    def __init__(
        self,
        *,
        sources: Mapping[str, RetrievalSource],
        source_timeout_seconds: float,
        timeouts: Mapping[str, float] | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self._sources = dict(sources)
        self._source_timeout_seconds = source_timeout_seconds
        self._filter_fields = {name: _filter_fields(name, source) for name, source in sources.items()}
        self._timeouts = dict(timeouts or {})
        self._breaker = breaker or CircuitBreaker(failures=0)
        self._left: set[_Asked] = set()

    async def ask(
        self,
        names: Sequence[str],
        query_of: Callable[[str], SourceQuery],
        *,
        deadline: float,
        identify: Identify,
        replaceable: bool = False,
    ) -> list[SourceResult]:
        """Return one result a name, in order. ``deadline`` is on the event loop's clock.

        ``replaceable``: another source stands in for these, so that they may all be skipped as out of order.

        ``query_of`` makes each source's query. A source that cannot filter as its query wants is skipped and named, as
        is one whose passages cannot be held to the operators of the query's syntax (those that are no chunks); one
        whose collection the filters leave out is skipped, and that is no fault. ``identify`` gives the hits of a list
        their chunk ids; where it fails, the source that made the list has failed. One of files is not asked for a
        principal that may not read them.
        Raises InvalidInputError if a source of our own finds the query itself at fault.
        """
        clock = asyncio.get_running_loop().time
        started = clock()
        planned = {name: self._planned(name, query_of(name), deadline - started) for name in names}
        questions = {name: plan for name, plan in planned.items() if isinstance(plan, _Question)}
        results: dict[str, SourceResult | InvalidInputError] = {
            name: plan for name, plan in planned.items() if isinstance(plan, SourceResult)
        }
        admitted = self._breaker.admit(questions, now=started, replaceable=replaceable)
        try:
            async with asyncio.TaskGroup() as group:
                for name, question in questions.items():
                    if admitted[name] is Admission.REFUSED:
                        results[name] = _skipped(name, CIRCUIT_OPEN)
                    else:
                        group.create_task(self._supervise(name, question, identify, results))
        finally:
            for name, admission in admitted.items():
                verdict = self._verdict(name, results.get(name), questions[name])
                self._breaker.settle(name, admission, verdict, now=clock())
        ordered = [results[name] for name in names]
        for result in ordered:
            if isinstance(result, InvalidInputError):
                raise result
        return [result for result in ordered if isinstance(result, SourceResult)]

    def _planned(self, name: str, query: SourceQuery, remaining: float) -> _Question | SourceResult:
        source = self._sources.get(name)
        if source is None:
            return _skipped(name, NOT_CONFIGURED)
        collection = getattr(source, "collection", CHUNK_COLLECTION)
        if collection == FILES and not query.principal.may_read_files:
            return _skipped(name, SCOPED + Scope.TOOLS)
        if query.syntax is not QuerySyntax.PLAIN and collection != CHUNK_COLLECTION:
            return _skipped(name, OPERATORS + query.syntax)
        narrowed = narrowed_to(query.filters, collection)
        if narrowed is None:
            return _skipped(name, None)
        filter_fields = self._filter_fields[name]
        lacking = frozenset() if filter_fields is None else fields_of(narrowed) - filter_fields
        if lacking:
            return _skipped(name, FILTERED + ",".join(sorted(lacking)))
        seconds = max(0.0, min(remaining, self._own_seconds(name)))
        return _Question(source=source, query=replace(query, filters=narrowed), seconds=seconds)

    def _own_seconds(self, name: str) -> float:
        return self._timeouts.get(name, self._source_timeout_seconds)

    async def _supervise(
        self,
        name: str,
        question: _Question,
        identify: Identify,
        results: dict[str, SourceResult | InvalidInputError],
    ) -> None:
        """Put what became of a source into ``results``. Raises nothing but its own cancellation."""
        started = time.perf_counter()
        task = asyncio.get_running_loop().create_task(_ask_one(name, question, identify))
        try:
            await asyncio.wait([task], timeout=question.seconds)
        finally:
            unfinished = not task.done()
            if unfinished:
                self._leave(name, task)
        result = (
            _failed(name, SourceOutcome.TIMEOUT, started, "timeout") if unfinished else _outcome(name, task, started)
        )
        if isinstance(result, SourceResult):
            log_outage(result.report)
        results[name] = result

    def _leave(self, name: str, task: _Asked) -> None:
        """Cancel a source and go on without it: one that swallows its cancellation must hold no search."""
        task.cancel()
        self._left.add(task)  # the event loop itself keeps no task alive
        task.add_done_callback(partial(self._ended, name))

    def _ended(self, name: str, task: _Asked) -> None:
        self._left.discard(task)
        if not task.cancelled():
            logger.warning("source %s ended after it was cancelled, of its own accord", name, exc_info=task.exception())

    def _verdict(self, name: str, result: SourceResult | InvalidInputError | None, question: _Question) -> Verdict:
        """Return what a result says of its source.

        A timeout says nothing where the source had little of its time, or the query may have been too much for it.
        """
        if not isinstance(result, SourceResult) or result.report.reason in NO_FAULT_OF_ITS_OWN:
            return Verdict.NOTHING
        if result.report.answered:
            return Verdict.WELL
        hurried = question.seconds < self._own_seconds(name) / 2
        heavy = bool(question.query.filters) or len(question.query.text) > LONG_QUERY
        if result.report.outcome is SourceOutcome.TIMEOUT and (hurried or heavy):
            return Verdict.NOTHING
        return Verdict.FAILED


def _filter_fields(name: str, source: RetrievalSource) -> frozenset[str] | None:
    """Return the names that a source can filter by, None for any. Raises ConfigurationError."""
    fields = getattr(source, "filter_fields", None)
    if fields is None:
        return None
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        raise ConfigurationError(
            f"The filter_fields of source '{name}' are no names of fields.",
            field="sources",
            remedy="Give a set of names, or leave the attribute out.",
        )
    return frozenset(fields)


async def _ask_one(name: str, question: _Question, identify: Identify) -> SourceResult | InvalidInputError:
    started = time.perf_counter()
    query = question.query
    try:
        with ParentSpan(f"source {name}", limit=query.limit) as span:
            answer = await question.source.retrieve(query)
            if not isinstance(answer, SourceAnswer):
                raise TypeError("a source returns a SourceAnswer")  # noqa: TRY301 - one place reports what is wrong
            span.note(hits=len(answer.ranked_list.hits), cut=answer.cut)
            if answer.incomplete is not None:
                span.note(incomplete=True)
        first, *further = [await identify(ranked, query.principal) for ranked in _named(name, answer, query.limit)]
    except TimeoutError:
        return _failed(name, SourceOutcome.TIMEOUT, started, "timeout")
    except SourceUnavailableError as error:
        return _failed(name, SourceOutcome.FAILED, started, _reason(error))
    except InvalidRankingError:
        logger.warning("source %s returned an invalid ranking", name, exc_info=True)
        return _failed(name, SourceOutcome.INVALID, started, "invalid")
    except (Exception, SystemExit) as error:  # a source may be the user's own: its bug is its outage, logged, named
        if isinstance(error, InvalidInputError) and name in OWN_SOURCES:
            return error
        logger.exception("source %s raised an unexpected error", name)
        return _failed(name, SourceOutcome.FAILED, started, "error")
    outcome = SourceOutcome.OK if first.hits or any(further) else SourceOutcome.EMPTY
    return SourceResult(
        report=_report(name, outcome, started, reason=answer.incomplete, hits=len(first), cut=answer.cut),
        answer=replace(answer, ranked_list=first, further=tuple(further)),
    )


def _named(name: str, answer: SourceAnswer, limit: int) -> list[RankedList]:
    """Return the lists under the names that weights and reports go by: the first as the source is wired.

    Those of a user's own source hold ``limit`` hits at most, however many it gave, and its further lists go below its
    name, so that none can take the name of one of ours.
    """
    lists = []
    for number, ranked in enumerate(answer.lists):
        ours = name in OWN_SOURCES
        called = name if number == 0 else ranked.source if ours else f"{name}.{ranked.source}"
        hits = ranked.hits if ours else ranked.hits[:limit]
        same = ranked.source == called and len(ranked.hits) == len(hits)
        lists.append(ranked if same else replace(ranked, source=called, hits=hits))
    return lists


def _outcome(name: str, task: _Asked, started: float) -> SourceResult | InvalidInputError:
    """Return what a task that ended made. One that cancelled itself, or raised no Exception, has failed."""
    if not task.cancelled() and task.exception() is None:
        return task.result()
    logger.error(
        "source %s cancelled itself or raised what is no Exception",
        name,
        exc_info=None if task.cancelled() else task.exception(),
    )
    return _failed(name, SourceOutcome.FAILED, started, "error")


def _reason(error: SourceUnavailableError) -> str:
    """Return the error's reason; a subclass of the user's own may have set none."""
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, str) and reason else "unavailable"


def _skipped(name: str, reason: str | None) -> SourceResult:
    return SourceResult(report=_report(name, SourceOutcome.SKIPPED, 0.0, reason=reason))


def _failed(name: str, outcome: SourceOutcome, started: float, reason: str) -> SourceResult:
    return SourceResult(report=_report(name, outcome, started, reason=reason))


def _report(
    name: str,
    outcome: SourceOutcome,
    started: float,
    *,
    reason: str | None = None,
    hits: int = 0,
    cut: bool = False,
) -> SourceReport:
    elapsed_ms = (time.perf_counter() - started) * 1000 if started else 0.0
    return SourceReport(
        source=name,
        outcome=outcome,
        elapsed_ms=round(elapsed_ms, 3),
        reason=reason,
        hits=hits,
        cut=cut,
    )
