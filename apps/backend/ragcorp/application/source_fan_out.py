"""Asks sources side by side, each under a deadline, and reports what became of each."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ragcorp.application.retrieval_profile import DENSE, FULL_TEXT
from ragcorp.domain.exceptions import InvalidInputError, InvalidRankingError, SourceUnavailableError
from ragcorp.domain.ports.sources import RetrievalSource, SourceAnswer, SourceQuery, SourceResult
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import RankedList, SourceOutcome, SourceReport

logger = logging.getLogger(__name__)

MAY_REFUSE = frozenset({DENSE, FULL_TEXT})
"""Sources of our own, which may find the query or its filters at fault. From any other that is the source's error."""

Identify = Callable[[RankedList, Principal], Awaitable[RankedList]]
_Asked = asyncio.Task[SourceResult | InvalidInputError]


class SourceFanOut:
    """Runs sources in parallel. A slow one is cut off; a failing one is reported; neither disturbs the others."""

    def __init__(self, *, sources: Mapping[str, RetrievalSource], source_timeout_seconds: float) -> None:
        self._sources = dict(sources)
        self._source_timeout_seconds = source_timeout_seconds
        self._left: set[_Asked] = set()

    async def ask(
        self, names: Sequence[str], query: SourceQuery, *, deadline: float, identify: Identify
    ) -> list[SourceResult]:
        """Return one result a name, in order. ``deadline`` is on the event loop's clock.

        ``identify`` gives the hits of a list their chunk ids; where it fails, the source that made the list has failed.
        Raises InvalidInputError if a source of our own finds the query itself at fault.
        """
        loop = asyncio.get_running_loop()
        started, now = time.perf_counter(), loop.time()
        tasks = {name: loop.create_task(self._ask_one(name, query, identify)) for name in names}
        try:
            await asyncio.wait(tasks.values(), timeout=max(0.0, min(deadline - now, self._source_timeout_seconds)))
        finally:
            unfinished = {name for name, task in tasks.items() if not task.done()}
            for name in unfinished:
                self._leave(name, tasks[name])
        results = []
        for name, task in tasks.items():
            outcome = (
                _failed(name, SourceOutcome.TIMEOUT, started, "timeout")
                if name in unfinished
                else _outcome(name, task, started)
            )
            if isinstance(outcome, InvalidInputError):
                raise outcome
            results.append(outcome)
        return results

    async def _ask_one(self, name: str, query: SourceQuery, identify: Identify) -> SourceResult | InvalidInputError:
        source = self._sources.get(name)
        if source is None:
            return SourceResult(report=_report(name, SourceOutcome.SKIPPED, 0.0, reason="not_configured"))
        started = time.perf_counter()
        try:
            answer = await source.retrieve(query)
            if not isinstance(answer, SourceAnswer):
                raise TypeError("a source returns a SourceAnswer")  # noqa: TRY301 - one place reports what is wrong
            first, *further = [await identify(ranked, query.principal) for ranked in _named(name, answer)]
        except TimeoutError:
            return _failed(name, SourceOutcome.TIMEOUT, started, "timeout")
        except SourceUnavailableError as error:
            return _failed(name, SourceOutcome.FAILED, started, _reason(error))
        except InvalidRankingError:
            logger.warning("source %s returned an invalid ranking", name, exc_info=True)
            return _failed(name, SourceOutcome.INVALID, started, "invalid")
        except (Exception, SystemExit) as error:  # a source may be the user's own: its bug is its outage, logged, named
            if isinstance(error, InvalidInputError) and name in MAY_REFUSE:
                return error
            logger.exception("source %s raised an unexpected error", name)
            return _failed(name, SourceOutcome.FAILED, started, "error")
        outcome = SourceOutcome.OK if first.hits or any(further) else SourceOutcome.EMPTY
        return SourceResult(
            report=_report(name, outcome, started, reason=answer.incomplete, hits=len(first), cut=answer.cut),
            answer=replace(answer, ranked_list=first, further=tuple(further)),
        )

    def _leave(self, name: str, task: _Asked) -> None:
        """Cancel a source and go on without it: one that swallows its cancellation must hold no search."""
        task.cancel()
        self._left.add(task)  # the event loop itself keeps no task alive
        task.add_done_callback(partial(self._ended, name))

    def _ended(self, name: str, task: _Asked) -> None:
        self._left.discard(task)
        if not task.cancelled():
            logger.warning("source %s ended after it was cancelled, of its own accord", name, exc_info=task.exception())


def _named(name: str, answer: SourceAnswer) -> list[RankedList]:
    """Return the lists under the names that weights and reports go by: the first as the source is wired.

    Further lists of a user's own source go below its name, so that none can take the name of one of ours.
    """
    lists = []
    for number, ranked in enumerate(answer.lists):
        called = name if number == 0 else ranked.source if name in MAY_REFUSE else f"{name}.{ranked.source}"
        lists.append(ranked if ranked.source == called else replace(ranked, source=called))
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
