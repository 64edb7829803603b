"""Queries sources in parallel, each under a deadline, and reports the outcome of each.

Sources that can be looked up jointly are, while all of them are healthy; one by one if that fails or takes long.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from ragcorp.application.resilience.circuit_breaker import Admission, CircuitBreaker, Verdict
from ragcorp.application.resilience.source_reports import elapsed_ms, log_outage
from ragcorp.application.resilience.time_bound import leave_behind, run_within
from ragcorp.application.retrieval.search.plan import QueryPlan
from ragcorp.domain.exceptions import ConfigurationError, InvalidInputError, InvalidRankingError, SourceUnavailableError
from ragcorp.domain.files.values import FILES
from ragcorp.domain.filters import fields_of, narrowed_to
from ragcorp.domain.keys import Scope
from ragcorp.domain.ports.sources import JointSources, RetrievalSource, SourceAnswer, SourceQuery, SourceResult
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION, RankedList, SourceOutcome, SourceReport
from ragcorp.domain.search.requests import QuerySyntax
from ragcorp.domain.search.sources import OWN_SOURCES
from ragcorp.tracing import ParentSpan, Span

logger = logging.getLogger(__name__)

FILTERED = "filter:"
"""Prefix of the reason of a source that cannot apply the filters; the fields that it lacks follow."""
OPERATORS = "syntax:"
"""Prefix of the reason of a source that cannot apply the query's syntax, whose name follows."""
SCOPED = "scope:"
"""Prefix of the reason of a source that the caller's key excludes; the missing scope follows."""
CIRCUIT_OPEN = "circuit_open"
NOT_CONFIGURED = "not_configured"

NO_EMBEDDER = "no_embedder"

EXCUSED = frozenset({NO_EMBEDDER, "pool_exhausted"})
"""Reasons that the circuit breaker ignores: skipping the source would save nothing and hide the reason."""
JOINT_SHARE = 0.9
"""The share of its sources' time that a joint lookup has: more than the wait for a connection takes, and the rest is
many times what a lookup takes."""
LONG_QUERY = 400
"""A longer query (characters), or one with filters, may itself cause a timeout."""

Identify = Callable[[RankedList, Principal], Awaitable[RankedList]]
_Running = asyncio.Task[SourceResult | InvalidInputError]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One source's query, and the seconds that it has."""

    source: RetrievalSource
    query: SourceQuery
    seconds: float


class SourceFanOut:
    """Runs sources in parallel; cuts off slow ones and reports failing ones. Raises ConfigurationError."""

    def __init__(
        self,
        *,
        sources: Mapping[str, RetrievalSource],
        source_timeout_seconds: float,
        timeouts: Mapping[str, float] | None = None,
        breaker: CircuitBreaker | None = None,
        joint: JointSources | None = None,
    ) -> None:
        self._sources = dict(sources)
        self._source_timeout_seconds = source_timeout_seconds
        self._filter_fields = {name: _filter_fields(name, source) for name, source in sources.items()}
        self._timeouts = dict(timeouts or {})
        self._breaker = breaker or CircuitBreaker(failures=0)
        self._joint = joint

    async def query(
        self, names: Sequence[str], plan: QueryPlan, *, identify: Identify, replaceable: bool = False
    ) -> list[SourceResult]:
        """Return one result for each name, in order.

        A source is skipped and named where it cannot apply its filters, or the operators of the query's syntax (those
        apply to chunks), and where the principal may not read files. A source whose collection the filters exclude is
        skipped without a reason. ``identify`` resolves the hits of a list; if it fails, the source has failed.
        ``replaceable``: another source replaces these, so the breaker may skip them all.
        Raises InvalidInputError if a built-in source rejects the query.
        """
        clock = asyncio.get_running_loop().time
        started = clock()
        planned = {name: self._planned(name, plan.source_query(name), plan.deadline - started) for name in names}
        calls = {name: call for name, call in planned.items() if isinstance(call, _Call)}
        results: dict[str, SourceResult | InvalidInputError] = {
            name: skipped for name, skipped in planned.items() if isinstance(skipped, SourceResult)
        }
        admitted = self._breaker.admit(calls, now=started, replaceable=replaceable)
        try:
            results |= {
                name: _skipped(name, CIRCUIT_OPEN)
                for name, admission in admitted.items()
                if admission is Admission.REFUSED
            }
            work = []
            jointly = self._jointly({name: call for name, call in calls.items() if admitted[name] is Admission.FREE})
            if self._joint is not None and jointly:
                work.append(self._supervise_jointly(self._joint, jointly, identify, results))
            work += [
                self._supervise(name, call, identify, results)
                for name, call in calls.items()
                if name not in results and name not in jointly
            ]
            await _all(work)
        finally:
            for name, admission in admitted.items():
                verdict = self._verdict(name, results.get(name), calls[name])
                self._breaker.settle(name, admission, verdict, now=clock())
        ordered = [results[name] for name in names]
        for result in ordered:
            if isinstance(result, InvalidInputError):
                raise result
        return [result for result in ordered if isinstance(result, SourceResult)]

    def _planned(self, name: str, query: SourceQuery, remaining: float) -> _Call | SourceResult:
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
        return _Call(source=source, query=replace(query, filters=narrowed), seconds=seconds)

    def _own_seconds(self, name: str) -> float:
        return self._timeouts.get(name, self._source_timeout_seconds)

    def _jointly(self, calls: Mapping[str, _Call]) -> dict[str, _Call]:
        """Return the calls to make in one lookup: none unless all its sources are called, with equal queries."""
        if self._joint is None or not calls.keys() >= set(self._joint.names):
            return {}
        joint = {name: calls[name] for name in self._joint.names}
        first, *others = [call.query for call in joint.values()]
        alike = all(replace(query, limit=first.limit) == first for query in others)
        return joint if alike else {}

    async def _supervise_jointly(
        self,
        joint: JointSources,
        calls: Mapping[str, _Call],
        identify: Identify,
        results: dict[str, SourceResult | InvalidInputError],
    ) -> None:
        """Put the results of a joint lookup into ``results``. It has most of the time, its sources the rest."""
        started = time.perf_counter()
        seconds = min(call.seconds for call in calls.values())
        try:
            with _spans(calls) as spans:
                lookup = _excused(calls, joint.retrieve({name: call.query for name, call in calls.items()}))
                answers = await run_within(JOINT_SHARE * seconds, lookup)
                for name, answer in answers.items():
                    if isinstance(answer, SourceAnswer):
                        _note(spans[name], answer)
                    else:
                        spans[name].fail(_reason(answer))
        except Exception:
            logger.info("sources %s are queried one by one", ", ".join(calls), exc_info=True)
            passed = time.perf_counter() - started
            await _all(
                [
                    self._supervise(name, replace(call, seconds=max(0.0, call.seconds - passed)), identify, results)
                    for name, call in calls.items()
                ]
            )
            return
        for name, answer in answers.items():
            result = (
                _failure(name, answer, started)
                if isinstance(answer, Exception)
                else _success(name, answer, answer.lists, started)
            )
            if isinstance(result, SourceResult):
                log_outage(result.report)
            results[name] = result

    async def _supervise(
        self, name: str, call: _Call, identify: Identify, results: dict[str, SourceResult | InvalidInputError]
    ) -> None:
        """Put the result of a source into ``results``. Raises only CancelledError."""
        started = time.perf_counter()
        task = asyncio.get_running_loop().create_task(_query_one(name, call, identify))
        try:
            await asyncio.wait([task], timeout=call.seconds)
        finally:
            unfinished = not task.done()
            if unfinished:
                leave_behind(task)  # one that swallows its cancellation must not delay the search
                task.add_done_callback(partial(_log_late_end, name))
        result = (
            _failed(name, SourceOutcome.TIMEOUT, started, "timeout") if unfinished else _outcome(name, task, started)
        )
        if isinstance(result, SourceResult):
            log_outage(result.report)
        results[name] = result

    def _verdict(self, name: str, result: SourceResult | InvalidInputError | None, call: _Call) -> Verdict:
        """Return the breaker's verdict; ignores a timeout of a source with little time or of an expensive query."""
        if not isinstance(result, SourceResult) or result.report.reason in EXCUSED:
            return Verdict.NOTHING
        if result.report.answered:
            return Verdict.WELL
        hurried = call.seconds < self._own_seconds(name) / 2
        heavy = bool(call.query.filters) or len(call.query.text) > LONG_QUERY
        if result.report.outcome is SourceOutcome.TIMEOUT and (hurried or heavy):
            return Verdict.NOTHING
        return Verdict.FAILED


def _filter_fields(name: str, source: RetrievalSource) -> frozenset[str] | None:
    """Return the fields that a source can filter by, None for any. Raises ConfigurationError."""
    fields = getattr(source, "filter_fields", None)
    if fields is None:
        return None
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        raise ConfigurationError(
            f"The filter_fields of source '{name}' are not names of fields.",
            field="sources",
            remedy="Give a set of names, or leave the attribute out.",
        )
    return frozenset(fields)


async def _all(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Await coroutines together; a single one needs no task."""
    if len(work) == 1:
        await work[0]
        return
    async with asyncio.TaskGroup() as group:
        for one in work:
            group.create_task(one)


async def _excused(
    names: Iterable[str], lookup: Awaitable[Mapping[str, SourceAnswer | Exception]]
) -> Mapping[str, SourceAnswer | Exception]:
    """Return an error that a second try would only meet again as that of each source."""
    try:
        return await lookup
    except SourceUnavailableError as error:
        if error.reason not in EXCUSED:
            raise
        return dict.fromkeys(names, error)


@contextmanager
def _spans(calls: Mapping[str, _Call]) -> Iterator[dict[str, Span]]:
    """Open a span for each source of a joint lookup; the first is the parent of what the lookup does."""
    first, *others = calls
    with ExitStack() as stack:
        spans = {
            name: stack.enter_context(kind(f"source {name}", limit=calls[name].query.limit))
            for kind, names in ((Span, others), (ParentSpan, [first]))
            for name in names
        }
        yield spans


def _note(span: Span, answer: SourceAnswer) -> None:
    span.note(hits=len(answer.ranked_list.hits), cut=answer.cut)
    if answer.incomplete is not None:
        span.note(incomplete=True)


async def _query_one(name: str, call: _Call, identify: Identify) -> SourceResult | InvalidInputError:
    started = time.perf_counter()
    query = call.query
    try:
        with ParentSpan(f"source {name}", limit=query.limit) as span:
            answer = await call.source.retrieve(query)
            if not isinstance(answer, SourceAnswer):
                raise TypeError("a source returns a SourceAnswer")  # noqa: TRY301 - one place reports what is wrong
            _note(span, answer)
        lists = [await identify(ranked, query.principal) for ranked in _named(name, answer, query.limit)]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - reported
        return _failure(name, error, started)
    return _success(name, answer, lists, started)


def _success(name: str, answer: SourceAnswer, lists: Sequence[RankedList], started: float) -> SourceResult:
    first, *further = lists
    outcome = SourceOutcome.OK if first.hits or any(further) else SourceOutcome.EMPTY
    return SourceResult(
        report=SourceReport(
            source=name,
            outcome=outcome,
            elapsed_ms=elapsed_ms(started),
            reason=answer.incomplete,
            hits=len(first),
            cut=answer.cut,
        ),
        answer=answer if lists is answer.lists else replace(answer, ranked_list=first, further=tuple(further)),
    )


def _failure(name: str, error: BaseException, started: float) -> SourceResult | InvalidInputError:
    """Return the report of a source's error, or the error where it is about the query."""
    match error:
        case TimeoutError():
            return _failed(name, SourceOutcome.TIMEOUT, started, "timeout")
        case SourceUnavailableError():
            return _failed(name, SourceOutcome.FAILED, started, _reason(error))
        case InvalidRankingError():
            logger.warning("source %s returned an invalid ranking", name, exc_info=error)
            return _failed(name, SourceOutcome.INVALID, started, "invalid")
        case InvalidInputError() if name in OWN_SOURCES:
            return error
        case _:  # the bug of a custom source is its outage: logged and named
            logger.error("source %s raised an unexpected error", name, exc_info=error)
            return _failed(name, SourceOutcome.FAILED, started, "error")


def _named(name: str, answer: SourceAnswer, limit: int) -> list[RankedList]:
    """Rename the lists as weights and reports do; those of custom sources are cut and get its name as prefix."""
    lists = []
    for number, ranked in enumerate(answer.lists):
        built_in = name in OWN_SOURCES
        list_name = name if number == 0 else ranked.source if built_in else f"{name}.{ranked.source}"
        hits = ranked.hits if built_in else ranked.hits[:limit]
        same = ranked.source == list_name and len(ranked.hits) == len(hits)
        lists.append(ranked if same else ranked.with_hits(hits, source=list_name))
    return lists


def _log_late_end(name: str, task: _Running) -> None:
    if not task.cancelled():
        logger.warning("source %s ended after it was cancelled", name, exc_info=task.exception())


def _outcome(name: str, task: _Running, started: float) -> SourceResult | InvalidInputError:
    """Return the result of a finished task; it failed if it cancelled itself or raised a BaseException."""
    if not task.cancelled() and task.exception() is None:
        return task.result()
    logger.error(
        "source %s cancelled itself or raised something other than an Exception",
        name,
        exc_info=None if task.cancelled() else task.exception(),
    )
    return _failed(name, SourceOutcome.FAILED, started, "error")


def _reason(error: Exception) -> str:
    """Return the error's reason; a custom subclass may have set none."""
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, str) and reason else "unavailable"


def _skipped(name: str, reason: str | None) -> SourceResult:
    report = SourceReport(source=name, outcome=SourceOutcome.SKIPPED, elapsed_ms=0.0, reason=reason)
    return SourceResult(report=report)


def _failed(name: str, outcome: SourceOutcome, started: float, reason: str) -> SourceResult:
    report = SourceReport(source=name, outcome=outcome, elapsed_ms=elapsed_ms(started), reason=reason)
    return SourceResult(report=report)
